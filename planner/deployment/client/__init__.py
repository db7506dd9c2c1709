"""What a device runs. Nothing in this folder needs more than the standard library."""
