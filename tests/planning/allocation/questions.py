"""The three questions of the theory's numeric check."""

import numpy as np

from planner import ChoiceBlock, MeanBlock, PrivacyPolicy

SECTION_9 = [
    ChoiceBlock("diagnosis", PrivacyPolicy(np.log([4, 6]), [1, 4])),
    ChoiceBlock("page", PrivacyPolicy([2, 2.4, 4], [5, 5, 90]), weight=0.05),
    MeanBlock("income", 2.0, weight=3),
]
