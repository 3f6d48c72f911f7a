"""`prism demo`: SPEC-034 §3's acceptance test, for people to watch."""
