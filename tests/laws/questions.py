"""Questions of every law, and what is wrong with them when a part is replaced."""

import copy

from planner.deployment.parameters import parameters_from_mechanisms
from planner.laws.die import ACKNOWLEDGEMENTS
from tests.deployment.examples import every_mechanism
from tests.laws.oracle import D

FILE = parameters_from_mechanisms(*every_mechanism())
QUESTIONS = {law.name: law.document() for law in FILE.questions}
FORMS = [
    (
        "idue",
        ("a", 0),
        D,
        r"a\[0\] of question 'idue' is 4294967296 but must be .* to 4294967295",
    ),
    ("idue", ("a", 0), 1.5, "a whole number"),
    ("idue", ("a",), [1], "a is 1 but must be 2 integers, one a level"),
    (
        "idue",
        ("b", 0),
        D - 1,
        "b of level 'severe' is 4294967295 but must be below a = ",
    ),
    ("idue", ("levels", 0, "item_count"), 2, "lists 1 items, and its item_count is 2"),
    ("idue", ("levels", 0, "items"), ["flu"], "two items have the same name"),
    ("idue", ("levels", 0, "name"), "common", "two levels have the same name"),
    ("idue", ("levels", 0, "epsilon"), 51.0, "above 0 and at most 50"),
    ("idue", ("law",), "other", "one of 'bits', 'sides', "),
    (
        "idue",
        ("asked",),
        "number",
        "asked of question 'idue' is 'number' but must be 'item' or ",
    ),
    ("idue", ("rule",), "max", "rule"),
    ("idue", ("denominator",), 2**31, "4294967296"),
    ("idue", ("extra",), 1, "key of question 'idue' is 'extra'"),
    ("idue", ("b",), ..., "b of question 'idue' is missing"),
    ("avg", ("levels", 1, "against"), 1.0, "left out under this rule"),
    ("one-sided", ("levels", 1, "against"), 0.0, "above 0 and at most 50"),
    ("one-sided", ("rule",), "min", "left out under this rule"),
    ("matrix", ("rule", 0, 1), None, "null in both directions, or in neither"),
    ("matrix", ("rule",), [[1.0]], "a 2 x 2 matrix"),
    (
        "matrix",
        ("rule",),
        [[1.0, None], [None, None]],
        "finite for at least one pair of each",
    ),
    ("anchored", ("anchor", "known"), "plague", "an answer of the question"),
    ("anchored", ("anchor", "of"), "x", "key of anchor of question 'anchored' is 'of'"),
    ("anchored", ("anchor",), {"name": "check"}, "anchor.known .* is missing"),
    ("anchored", ("anchor",), [], "a JSON object"),
    (
        "anchored",
        ("rounds",),
        {"count": 2, "scheme": "once"},
        "left out of a question in rounds",
    ),
    ("age", ("anchor",), {"name": "check", "known": "x"}, "is 'anchor'"),
    ("sets", ("anchor",), {"name": "check", "known": "x"}, "is 'anchor'"),
    ("sets", ("rule",), "avg", "'min'"),
    ("sets", ("padding_length",), 0, "from 1 to 1048576"),
    ("sets", ("longer_sets", 0, "size"), 3, "of sizes that rise from above 3"),
    (
        "sets",
        ("longer_sets",),
        [{"size": 4, "share": 0.1}, {"size": 5, "share": 0.2}],
        "not rise",
    ),
    ("olh", ("hash_function",), "md5", "xxh32"),
    ("olh", ("values",), 2**31, "from 2 to 536870912"),
    (
        "subset",
        ("types", 0, 0),
        6,
        r"types\[0\]\[0\] is 6 but must be at most the 5 elements",
    ),
    ("subset", ("values",), [[[0.0, 1.0]]], "values is not of the shape 0"),
    ("design", ("values",), [], "values is not of the shape 4 x 2 x 2"),
    ("design", ("types", 0), [1], "types is not of the shape 4 x 2"),
    (
        "design",
        ("groups",),
        [0, 2],
        r"groups is .* one of 2 for each of 2 levels, from 0",
    ),
    ("design", ("groups",), [0], r"groups is .* one of 2 for each of 2 levels, from 0"),
    ("age", ("lower",), 90.0, "above lower, which is 90.0, by a finite amount"),
    ("yes", ("points",), 3, "2: no and yes"),
    ("age", ("points",), 3, "rows is 3 but must be one for each of 4 answers"),
    ("age", ("blocks",), [2, 1], "blocks is .* 4 together"),
    ("order", ("rows", 0), [1, 2], "rows is not of the shape 5 x 2"),
    ("order", ("values", 0), [1.0], "values is not of the shape"),
    (
        "order",
        ("order",),
        [0, 1, 2, 3, 3],
        "the numbers of all items once, at most 257",
    ),
    ("order", ("scores",), [1.0], "5 numbers, or none"),
    ("sampled", ("guarantee", "acknowledged"), "yes", "acknowledged"),
    ("sampled", ("guarantee", "linkable_epsilon"), 1.0, "infinite"),
    ("whole sets", ("ratios",), [D], "number of ratios is 1 but must be 2"),
    ("whole sets", ("ratios",), [D, D, 1], "number of ratios is 3 but must be 2"),
    ("whole sets", ("held",), 7, "from 1 to 6"),
]
UNRELEASED = QUESTIONS["sampled"]["guarantee"] | {
    "relies_on": "aggregates-only",
    "acknowledged": ACKNOWLEDGEMENTS["aggregates-only"],
}
PROOFS = [
    ("idue", ("a", 1), 3 * 10**9, "Levels 'severe' and 'common' realise"),
    ("avg", ("a", 1), 4 * 10**9, "realise"),
    (
        "one-sided",
        ("levels", 1, "against"),
        1.29,
        "'common' and 'common' realise 1.[23]",
    ),
    (
        "grr",
        ("weights", 0, 0),
        [D // 4, 3 * D // 4],
        "Levels 'severe', 'common' and .* realises",
    ),
    ("subset", ("weights", 0, 0), [D - 1, 1], "realises"),
    (
        "subset",
        ("weights", 0, 0),
        [4 * D // 5 + 1, D - 4 * D // 5 - 1],
        "the true item more often",
    ),
    ("subset", ("weights", 0, 0), [1, 1], "integers of group 0 do not sum to 2.32"),
    ("olh", ("values",), 30, "realises"),
    ("olh", ("truth",), 3 * 10**9, "realises"),
    ("age", ("epsilon",), 1.99, "'any answer or none': a report realises"),
    ("age", ("rows", 0, 0), 2, "integers of row 0 do not sum"),
    ("age", ("blocks",), [1, 3], "The blocks of row 1 are not those of the first one"),
    ("order", ("values", 0, 0), 9.0, "biased for the answers of row 0"),
    ("order", ("wanted",), "mean of scores", "4 rows of values for 1 wanted numbers"),
    ("design", ("values", 0, 0), [2.5, 2.5], "estimator of levels 'severe' is biased"),
    (
        "design",
        ("types", 3),
        [0, 4],
        "no element of group 1 on a side with a probability",
    ),
    ("sampled", ("decoys", 0), 1, "parts in total"),
    ("sampled", ("decoys",), [1], "1 decoys for 3 values"),
    ("sampled", ("none_epsilon",), 0.5, "none of the values realises"),
    ("sampled", ("guarantee", "round_two_epsilon"), 0.001, "Round two realises"),
    (
        "sampled",
        ("guarantee", "aggregates", "others_with_each_value"),
        [9],
        "1 numbers of others",
    ),
    ("sampled", ("guarantee",), UNRELEASED, "no finite epsilon"),
    ("whole sets", ("ratios",), [D, D], "the true item more often"),
    ("whole sets", ("cap",), 0.5, "below the smallest budget"),
    ("whole sets", ("cap",), 1.99, "Two sets: a report realises"),
    (
        "whole sets",
        ("levels", 0, "epsilon"),
        0.999,
        "differ in one item: a report realises",
    ),
]


def replaced(table, path, value):
    """A copy of nested tables with the value at this path replaced (or, with ..., removed)."""
    copied = holder = copy.deepcopy(table)
    for key in path[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return copied
