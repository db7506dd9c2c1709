"""Ways to damage a file: bytes flipped, cut, doubled, moved, or what has hurt before."""

NASTY = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n\n",
    b'"',
    b"\\u0000",
    b"\\ud800",
    b"[" * 1200,
    b'{"a":' * 1200,
    b"NaN",
    b"-0.0",
    b"1e400",
    b"1e-320",
    b"9" * 4400,
    b"0x" + b"f" * 4000,
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"=HYPERLINK(1)",
    b"\x1b[2J",
    b"'" * 3,
    b"PAR1",
    b"SQLite format 3\x00",
)
FLIP, CUT, DOUBLE, MOVE, NASTY_PART, END = range(6)
KINDS = 6


def flipped(data, random):
    """One byte changed."""
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= random.randrange(1, 256)
    return bytes(changed)


def damaged(data, random):
    """One to three changes of any kind."""
    for _ in range(random.randint(1, 3)):
        data = _changed(data, random)
    return data


def _changed(data, random):
    if not data:
        return random.choice(NASTY)
    start = random.randrange(len(data))
    end = min(len(data), start + random.choice((1, 2, 8, 64, 1024)))
    part = data[start:end]
    kind = random.randrange(KINDS)
    if kind == FLIP:
        return flipped(data, random)
    if kind == END:
        return data[:start]
    if kind == MOVE:
        rest = data[:start] + data[end:]
        to = random.randint(0, len(rest))
        return rest[:to] + part + rest[to:]
    instead = {
        CUT: b"",
        DOUBLE: part * random.choice((2, 3, 31)),
        NASTY_PART: random.choice(NASTY),
    }
    return data[:start] + instead[kind] + data[end:]
