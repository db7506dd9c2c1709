"""What a solver hands to a mechanism: probabilities that keep a policy, with their proof."""
