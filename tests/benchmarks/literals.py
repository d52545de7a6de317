"""Measure what is left of numbers, names and quotations in checked summaries.

    python -m tests.benchmarks.literals [--texts 100]

Each text is 20,000 characters of prose with 50 literals of at most 12 characters, and
room is for a tenth of it. A model drops them all, changes a character in each, or
invents as many. A literal is kept where it stands in the result as it stood in the
text, and invented where it is none that was planted.
"""

from __future__ import annotations

import argparse
import random
import string
import sys
import time
from collections.abc import Callable, Sequence

from langchain_ctxfetch._core.checking import check
from langchain_ctxfetch._core.literals import grounds, literals

LENGTH = 20_000  # characters of a text
PLANTED = 50  # literals in it
LONGEST = 12  # characters of a literal
ROOM = 2_000  # characters of a summary
ROUNDS = 5  # summaries of summaries
TARGET = 0.95  # of the literals

WORDS = """
    the of and report was sent after a long talk about how people in town had
    found their way through old woods by night while nobody else knew what it
    would mean for those who stayed behind and waited near quiet water until
    morning came
    """.split()  # noqa: SIM905 - words read better than a list of strings
UNITS = ("mg", "kg", "km", "ms", "GB", "%", "€")
SAYINGS = ("never", "too late", "go home", "not yet", "we agree", "no way", "be kind")
DATES = ("{y}-{m:02}-{d:02}", "{d:02}.{m:02}.{y}", "{y}年{m}月{d}日")

Model = Callable[[random.Random, str, Sequence[str]], str]
"""From chance, a text and its literals to a reply."""


def literal(rng: random.Random, kind: int) -> str:
    """Make a literal of at most 12 characters."""
    letters = "".join(rng.choices(string.ascii_lowercase, k=4))
    number = rng.randrange(100, 10_000)
    day = {"y": rng.randint(1990, 2029), "m": rng.randint(1, 12), "d": 28}
    makers: Sequence[Callable[[], str]] = (
        lambda: f"{letters[:2].upper()}-{number}",
        lambda: f"{number / 100:.2f} {rng.choice(UNITS)}",
        lambda: rng.choice(DATES).format(**day),
        lambda: f"v{number % 9}.{number % 97}.{number % 89}",
        lambda: f"{letters}/{letters[0]}{number % 100}.py",
        lambda: f"ftp://{letters[:3]}.{rng.choice(('de', 'io'))}"[:LONGEST],
        lambda: f"`{letters}_{number % 1000}`",
        lambda: f"“{rng.choice(SAYINGS)}”",
        lambda: f"{letters}{number:04}",
        lambda: f"{number:,}",
        lambda: f"#{number}",
        lambda: f"{letters}@{letters[:2]}.org",
    )
    return makers[kind % len(makers)]()


def planted(rng: random.Random) -> tuple[str, list[str]]:
    """Make a text, and return it with its literals."""
    wanted: dict[str, None] = {}
    while len(wanted) < PLANTED:
        wanted[literal(rng, rng.randrange(12))] = None
    sentences: list[str] = []
    size = 0
    while size < LENGTH:
        words = " ".join(rng.choices(WORDS, k=rng.randint(6, 20)))
        sentences.append(f"{words.capitalize()}.")
        size += len(sentences[-1]) + 1
    for place, each in zip(
        rng.sample(range(len(sentences)), PLANTED), wanted, strict=True
    ):
        words = sentences[place][:-1].split()
        words.insert(rng.randrange(1, len(words)), each)
        sentences[place] = f"{' '.join(words)}."
    return " ".join(sentences), list(wanted)


def _prose(rng: random.Random, inserted: Sequence[str], length: int) -> str:
    sentences: list[str] = []
    waiting = list(inserted)
    while sum(map(len, sentences)) < length:
        words = rng.choices(WORDS, k=rng.randint(6, 14))
        if waiting and rng.random() < 0.5:
            words.insert(3, waiting.pop())
        said = " ".join(words)
        sentences.append(f"{said[0].upper()}{said[1:]}. ")
    return "".join(sentences).strip()


def dropping(rng: random.Random, text: str, wanted: Sequence[str]) -> str:
    """Say none of the literals."""
    return _prose(rng, (), min(ROOM, len(text) // 2))


def altering(rng: random.Random, text: str, wanted: Sequence[str]) -> str:
    """Say half of them with another digit or letter."""
    changed = [_changed(rng, each) for each in rng.sample(wanted, len(wanted) // 2)]
    return _prose(rng, changed, min(ROOM, len(text) // 2))


def inventing(rng: random.Random, text: str, wanted: Sequence[str]) -> str:
    """Say some that the text does not have."""
    made = [literal(rng, rng.randrange(12)) for _ in range(PLANTED // 2)]
    return _prose(rng, made, min(ROOM, len(text) // 2))


def keeping(rng: random.Random, text: str, wanted: Sequence[str]) -> str:
    """Say half of them as they are, at more length than there is room for."""
    return _prose(
        rng, rng.sample(wanted, len(wanted) // 2), min(2 * ROOM, len(text) // 2)
    )


def _changed(rng: random.Random, said: str) -> str:
    places = [i for i, sign in enumerate(said) if sign.isascii() and sign.isalnum()]
    place = rng.choice(places)
    signs = string.digits if said[place].isdigit() else string.ascii_lowercase
    other = rng.choice([sign for sign in signs if sign != said[place].lower()])
    return f"{said[:place]}{other}{said[place + 1 :]}"


MODELS: dict[str, Model] = {
    "drops them all": dropping,
    "changes them": altering,
    "invents others": inventing,
    "keeps half, at length": keeping,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=100)
    options = parser.parse_args(arguments)
    print(f"{options.texts} texts of {LENGTH:,} characters, {PLANTED} literals in each")
    print(f"{'a model':24s}{'kept':>8s}{f'after {ROUNDS}':>9s}{'invented':>10s}")
    met = True
    before = time.process_time()
    for name, model in MODELS.items():
        once, at_last, invented = measure(model, options.texts)
        met &= once >= TARGET and at_last >= TARGET and not invented
        print(f"{name:24s}{once:8.3f}{at_last:9.3f}{invented:10d}", flush=True)
    used = 1000 * (time.process_time() - before)
    print(f"{'target':24s}{TARGET:8.3f}{TARGET:9.3f}{0:10d}")
    print(f"{used / (len(MODELS) * options.texts * ROUNDS):.1f} ms a check")
    return 0 if met else 1


def measure(model: Model, texts: int) -> tuple[float, float, int]:
    """Return the shares kept at first and at last, and how many were invented."""
    once = at_last = invented = 0
    for seed in range(texts):
        rng = random.Random(seed)
        source, wanted = planted(rng)
        text = source
        for turn in range(ROUNDS):
            made = check(model(rng, text, wanted), text, ROOM).text
            # What cannot be used leaves the text before in its place.
            text = made or text
            if turn == 0:
                once += _kept(made or "", wanted)
            known = grounds(source)
            invented += sum(not known.hold(each) for each in literals(text))
        at_last += _kept(text if len(text) <= ROOM else "", wanted)
    return once / (texts * PLANTED), at_last / (texts * PLANTED), invented


def _kept(text: str, wanted: Sequence[str]) -> int:
    return sum(each in text for each in wanted)


if __name__ == "__main__":
    sys.exit(main())
