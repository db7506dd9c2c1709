"""The client in JavaScript does what the one in Python does."""

import json
import subprocess
from base64 import b64decode
from pathlib import Path

from planner.deployment.client.document import content_hash
from planner.deployment.parameters import make_vectors
from tests.deployment.asked_again import VALUE, asked_again, person_of_value
from tests.deployment.readers import CLIENT, asked, both_clients_agree

HERE = Path(__file__).parent


def test_javascript_passes_the_vectors(node, tmp_path, parameter_file, parameters):
    both_clients_agree(node, parameters, tmp_path)
    path = tmp_path / "vectors.json"
    vectors = make_vectors(parameters)
    vectors["vectors"][3]["report"] = "ff" + vectors["vectors"][3]["report"][2:]
    path.write_text(json.dumps(vectors))
    done = asked(node, parameter_file, "--vectors", path)
    assert done.returncode == 1
    assert "vector 3 differs" in done.stderr


def asking(node, parameter_file):
    """Asks the client and gives what it prints."""

    def ask(*words):
        done = asked(node, parameter_file, *words)
        return done.stdout or done.stderr

    return ask


def test_javascript_reports_nothing_from_a_damaged_memory(
    node, tmp_path, parameter_file
):
    ask = asking(node, parameter_file)
    memory = tmp_path / "memory"
    for words in (("idue", "flu"), ("sampled", "u", "--round", "2")):
        kept = (*words, "--memory", str(memory / words[0]), "--user", "ann")
        document = json.loads(ask(*kept))
        assert document["question"] == words[0]
        for path in (memory / words[0]).glob("*/*"):
            path.write_bytes(path.read_bytes() + b"0")
        assert "the memory is damaged" in ask(*kept)
        for path in (memory / words[0]).glob("*/*"):
            path.write_bytes(path.read_bytes()[:-2] + b"?")
        assert "the memory is damaged" in ask(*kept)


def test_javascript_remembers(node, tmp_path, parameter_file):

    ask = asking(node, parameter_file)
    kept = ("--memory", str(tmp_path / "memory"), "--user", "ann")
    assert ask("idue", "flu", *kept) == ask("idue", "x", *kept) != ask("idue", "x")
    first = ask("sampled", "u", *kept, "--round", "1")
    second = ask("sampled", "u", *kept, "--round", "2")
    assert json.loads(first)["id"] != json.loads(second)["id"]
    assert second == ask("sampled", "w", *kept, "--round", "2")
    assert "round one is over" in ask("sampled", "u", *kept, "--round", "1")
    assert len(list((tmp_path / "memory").iterdir())) == 2  # no die, no round one
    assert "memory" in ask("sampled", "u", "--round", "1")
    assert "none of the question's items" in ask("idue", "nobody")


SAID = [  # a question of every shape, an answer, another, the round
    ("idue", "flu", "HIV", None),
    ("sets", ["flu", "x"], ["HIV", "cold"], None),
    ("olh", "cold", "x", None),
    ("design by matrix", "flu", "HIV", None),
    ("whole sets", ["flu", "x"], ["HIV", "cold"], None),
    ("hours", 40.25, None, None),
    ("order", "x", "flu", None),
    ("sampled", "v", "u", 1),
    ("sampled", "v", None, 2),
]


def test_what_a_report_is_said_to_say_is_what_is_drawn(node, parameter_file):
    """By the system's randomness: six standard deviations of 200 chances, once in a million."""
    text = json.dumps(SAID)
    call = [node, HERE / "says.mjs", CLIENT.as_uri(), parameter_file, text]
    done = subprocess.run(call, capture_output=True, text=True, check=True)  # noqa: S603
    for question, (having, others, near_miss) in json.loads(done.stdout).items():
        assert having < 6, question
        assert others < 6, question
        assert near_miss > 6, question


def test_javascript_agrees_on_the_hash(node, tmp_path):
    odd = {
        "é": [1e21, 1e-7, 0.1, -0.0, 5e-324, 1.0, 123456789.125],
        "€": "\u2028\x7f\n",
        "\ufb33": 1,
    }
    odd["😀"] = {"b": None, "a": [True, False, {}, []]}
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(odd))
    module = CLIENT.parent / "parameter-file.mjs"
    script = (
        f"import {{ contentHash }} from '{module.as_uri()}';"
        "import { readFileSync } from 'node:fs';"
        "console.log(await contentHash(JSON.parse(readFileSync(process.argv[1], 'utf8'))));"
    )
    call = [node, "--input-type=module", "--eval", script, str(path)]
    done = subprocess.run(call, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == content_hash(odd)


def test_two_processes_of_one_person_report_a_new_value_once(node, tmp_path):
    params = tmp_path / "params.json"
    text = json.dumps(asked_again(VALUE))
    params.write_text(text)
    user = person_of_value(VALUE, 2)
    for attempt in range(3):  # not one step: 19 of 25 tell of two values
        call = [
            node,
            CLIENT,
            params,
            "q",
            "a",
            "--memory",
            tmp_path / str(attempt),
            "--user",
            user,
        ]
        first, *both = (
            [*call, "--round", *words]
            for words in (["1"], ["2", "--changed"], ["3", "--changed"])
        )
        subprocess.run(first, check=True, capture_output=True)  # noqa: S603
        at_once = [subprocess.Popen(call, stdout=-1, stderr=-1) for call in both]  # noqa: S603
        answers = []
        for out in (process.communicate()[0] for process in at_once):
            if out:
                answers.append(json.loads(out))
        assert sum(b64decode(answer["report"])[0] for answer in answers) == 1
