"""How signals travel: routing, policies, the delivery machine, and what drives it."""
