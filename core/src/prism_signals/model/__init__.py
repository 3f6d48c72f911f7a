"""Frozen values that every part shares: signals, names, sessions, deliveries, outcomes, types."""
