"""If reports are shuffled or only summed: central privacy, proven from both sides."""
