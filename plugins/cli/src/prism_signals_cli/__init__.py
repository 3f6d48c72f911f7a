"""Prism Signals in the terminal: the command `prism`, and `tur` for those who come from EP-0123."""
