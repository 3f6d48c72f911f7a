"""The in-memory reference of store, directory and bus: see `backend.MemoryBackend`."""
