"""What budget to ask for, when a larger one means less noise but fewer answers."""
