"""What a parameter file promises: integers over 2^32, checked exactly; standard library only."""
