"""What a report lets somebody guess: the answer, or whose report it is."""
