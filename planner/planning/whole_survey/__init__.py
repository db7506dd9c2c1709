"""A whole survey: its questions planned together, compared, and put into sentences."""
