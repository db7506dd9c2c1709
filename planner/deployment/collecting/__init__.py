"""Reports in, estimates out."""
