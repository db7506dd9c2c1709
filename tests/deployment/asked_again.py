"""One question that is asked in four rounds, once or of one value."""

from planner import Categorical, Level, Survey, randomized_response
from planner.deployment.client.document import content_hash
from planner.deployment.parameters import Parameters, parameters_from_mechanisms
from planner.laws.rounds import TIMES_OPEN

ONCE = {"count": 4, "scheme": "once"}
VALUE = {
    "count": 4,
    "scheme": "one-value",
    "changes": 1,
    "acknowledged": TIMES_OPEN,
}
ITEMS = ("a", "b", "c")
PEOPLE = [
    f"person {i}" for i in range(64)
]  # some in every round, but for 4e-8 of all files


def asked_again(rounds, budget=1.0):
    level = Level("all", budget, ITEMS)
    question = Categorical("q", (level,))
    survey = Survey("s", 100, (question,))
    parameters = parameters_from_mechanisms(
        survey, {"q": randomized_response(budget, items=3)}
    )
    document = parameters.document | {
        "questions": [parameters.document["questions"][0] | {"rounds": rounds}]
    }
    return document | {"hash": content_hash(document)}


def person_of_value(rounds, value):
    """Somebody who reports the first or second value, or in that round."""
    parameters = Parameters.of(asked_again(rounds))
    again = parameters.question("q").again
    for person in PEOPLE:
        if again.own(parameters.hash, "q", person) == value:
            return person
    raise LookupError(value)
