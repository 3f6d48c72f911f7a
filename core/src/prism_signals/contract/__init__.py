"""What plugins implement. Each rule has an id: S store, D directory, B bus, T strategy."""
