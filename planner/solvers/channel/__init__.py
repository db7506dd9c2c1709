"""The best channel for any linear question, over all mechanisms that keep the pair budgets."""
