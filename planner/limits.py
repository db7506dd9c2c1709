"""Numbers that several parts hold to, and the words that go with them.

Standard library only: a device reads them too.
"""

from __future__ import annotations

MEBIBYTE = 2**20

MAX_EPSILON: float = 50
"""Of a level, a pair or a whole report, in nats."""
BUDGET_RANGE = f"a budget above 0 and at most {MAX_EPSILON}"
BUDGET_REMEDY = (
    f"A budget above {MAX_EPSILON} allows odds of more than 10^21 to 1, which protects nobody, "
    "and is finer than deployed probabilities (integers over 2^32) can express."
)
LEAST_EPSILON = 1e-9
"""Below it no two integers over 2^32 lie between two probabilities."""

DENOMINATOR_BITS = 32
DENOMINATOR = 2**DENOMINATOR_BITS
"""Deployed probabilities are whole multiples of one over it: a draw takes 32 random bits."""

MAX_COUNT = 10**12
"""Of people, and of items: products of two counts and a probability stay exact in use."""

MAX_CELLS = 2**24
"""Sums that a collector keeps for one question, and for all of a parameter file together.

They are the bits of a report, or the items that it may name, for each round or type of report.
"""

MOST_GROUPS = 1000
MOST_PATTERNS = 100_000
"""Combinations of values of known groups, each of which is counted apart."""
SMALL_GROUP = 300
"""People below whom a group is warned of: few hide among few."""

CONFIDENCE = 0.95
"""Of intervals, unless another is asked for."""
FEW_PEOPLE = 100
"""Reports below which noise outweighs what people answer."""
LARGE_EPSILON = 5.0
"""In nats: above it a report may say almost everything, as odds change 148-fold."""
SAME_ERROR = 0.005
"""Relative: an error that differs by less is spoken of as the same."""

MAX_JOINT_CELLS = 1000
"""Pairs of answers of a joint question."""
JOINED = " / "
"""Between the answers in the name of such a pair."""

MAX_PADDING_LENGTH = 2**20
"""Size to which sets are padded or cut."""
MAX_WHOLE_SET = 2**10
"""The same where a report is about the whole set: weights of hits then take 10 MB of memory."""

MAX_FILE_BYTES = 64 * MEBIBYTE
"""Of a JSON file that is read whole."""

EXPORT_REMEDY = "Export the parameters again."
"""For a parameter file that is not as it was exported."""
REPORTS_REMEDY = (
    "Get the file again from where it was written; never repair it by hand."
)
"""For a file of reports that is not as it was written."""
