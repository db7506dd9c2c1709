"""Deployment: from a plan to numbers that a real collection can trust."""
