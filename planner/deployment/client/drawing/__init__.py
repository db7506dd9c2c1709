"""From an answer to the bytes of a report: checks and exact draws; standard library only."""
