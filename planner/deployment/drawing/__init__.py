"""From an answer to the bytes of a report: checks, exact draws, memory; standard library only."""
