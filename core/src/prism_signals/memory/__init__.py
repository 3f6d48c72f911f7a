"""The in-memory reference of store, directory and bus."""

from __future__ import annotations

from .backend import MemoryBackend

__all__ = ["MemoryBackend"]
