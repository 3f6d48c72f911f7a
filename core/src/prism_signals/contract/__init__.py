"""What plugins implement. Every rule has an id: S… store, D… directory, B… bus, T… strategy, P… plugin."""
