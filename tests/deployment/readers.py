"""The three readers of a parameter file, asked for nothing but their verdict on some bytes."""

import json
import subprocess
from base64 import b64encode

from planner.deployment import Client
from planner.deployment.parameters import make_vectors, parse_parameters
from planner.errors import PlannerError
from tests.deployment.examples import FILES
from tests.laws.oracle import breaches, members

CLIENT = FILES.parents[2] / "planner" / "deployment" / "client" / "js" / "node.mjs"
_SCRIPT = """
import { Client } from "CLIENT";
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  try { await Client.open(Buffer.from(line, "base64")); console.log("accepted"); }
  catch (error) { console.log(error.constructor.name); }
}
"""


def asked(node, *words):
    """What the JavaScript client's command makes of these words."""
    call = [node, str(CLIENT), *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603


def both_clients_agree(node, parameters, folder):
    """Both make the reports of the vectors of these parameters, byte for byte."""
    document = make_vectors(parameters)
    laws = {law.name: law for law in parameters.questions}
    drawn = [
        vector for vector in document["vectors"] if "report" in vector
    ]  # others name a person's round
    assert all(
        replay(laws[draw["question"]], draw).hex() == draw["report"] for draw in drawn
    )
    file = folder / "params.json"
    vectors = folder / "vectors.json"
    file.write_text(parameters.to_json())
    vectors.write_text(json.dumps(document))
    done = asked(node, file, "--vectors", vectors)
    assert done.stdout.strip() == f"{len(document['vectors'])} vectors pass"


def replay(law, vector):
    """The report that a law makes of a vector's answer and entropy, all of which it takes."""
    left = bytes.fromhex(vector["entropy"])

    def source(count):
        nonlocal left
        data = left[:count]
        left = left[count:]
        return data

    code = law.code(vector["answer"])
    report = law.draw(code, source)
    assert not left, f"{len(left)} bytes are left over"
    return law.output(report, code, vector.get("round"))


def collector(data):
    """``ldp-planner verify`` and the collector: everything is checked."""
    return refusal(parse_parameters, data)


def python_client(data, folder):
    """The Python client, from a file."""
    path = folder / "params.json"
    path.write_bytes(data)
    return refusal(Client, path)


def refusal(read, source):
    """What a reader says against a source, or None."""
    try:
        read(source)
    except PlannerError as error:
        return str(error)
    return None


def javascript_client(node, files):
    """The JavaScript client on many files: ``"accepted"``, ``"Refused"``, or a crash's name."""
    script = _SCRIPT.replace("CLIENT", CLIENT.as_uri())
    lines = "".join(b64encode(data).decode() + "\n" for data in files)
    call = [node, "--input-type=module", "--eval", script]
    done = subprocess.run(call, input=lines, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.split()


def text(document):
    """A document as a file."""
    return json.dumps(document).encode()


def private(question):
    """Whether the listed reports keep every budget; what has too many is left to the proof."""
    if sum(count for count, _ in members(question)) > 12:
        return True
    return breaches(question) == []
