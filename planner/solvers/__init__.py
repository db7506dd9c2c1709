"""From a policy to a certified table of bits, or to the best of all mechanisms."""
