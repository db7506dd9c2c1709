"""Results as text for the terminal, and as documents for machines."""
