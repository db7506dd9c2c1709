"""Several questions asked of the same people: how to spend each person's budget."""
