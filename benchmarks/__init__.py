"""Measures the product beside the raw limits of the same machine, in the same run."""
