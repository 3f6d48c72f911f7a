"""Tests of what no single distribution owns."""
