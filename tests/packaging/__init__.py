"""What an installer gets: every wheel, and what works with nothing else installed."""
