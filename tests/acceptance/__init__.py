"""SPEC-034's acceptance test and criteria, over real processes."""
