"""The documentation, checked: its code runs, and what it says of the code is so."""
