"""The best channel for a question: means with missing answers, ordered answers, curves."""
