"""Who needs how much protection: levels, budgets, the rule for pairs, and what to make small."""
