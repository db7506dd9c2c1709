"""One answer a line in, one report a line out: a client as ``ldp-planner audit`` asks it.

Run: python examples/answer_lines.py params.json QUESTION < answers
"""

import json
import sys

from planner.deployment import Client


def main(parameters: str, question: str) -> None:
    """Answer until the input ends."""
    client = Client(parameters)
    for line in sys.stdin:
        print(client.report(question, json.loads(line)).to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
