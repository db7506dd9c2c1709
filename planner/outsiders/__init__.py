"""What an outsider learns: from shuffled reports, from one report, and by false ones."""

from planner.outsiders.blanket import Blanket
from planner.outsiders.guarantee import central_delta, central_epsilon, shuffled
from planner.outsiders.shapes import seen_of

__all__ = ["Blanket", "central_delta", "central_epsilon", "seen_of", "shuffled"]
