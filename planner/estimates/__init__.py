"""Estimates with their intervals: counts and means."""
