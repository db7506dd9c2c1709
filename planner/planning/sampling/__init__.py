"""Sampling Privacy: its parameters, and all views of what it guarantees."""
