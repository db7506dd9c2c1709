"""The colours of all charts: Okabe and Ito's, told apart by colour-blind readers."""

from __future__ import annotations

__all__ = ["BLUE", "CYCLE", "GREEN", "GREY", "ORANGE", "PURPLE", "RED", "SKY"]

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
RED, SKY, GREY = "#D55E00", "#56B4E9", "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
