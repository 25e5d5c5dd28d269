"""Writes the phrases of this folder: English to French, by a small grammar.

    python training/quickstart/generate.py [FOLDER]

Every sentence has a subject, a verb and an object (or a place, or an adjective). One such *combination*
belongs to one file only: whatever tense, negation or question it is put into, a combination of dev.tsv or
test.tsv never occurs in train.tsv, while each of its words does. The English always determines the French:
"you" is one person (tu), "they" is "ils", and words with two translations are left out.
"""

import hashlib
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from grammar import (
    BE,
    NUMBERS,
    OWNERS,
    PRONOUNS,
    Phrase,
    agree,
    contract,
    english_sentence,
    french_sentence,
    noun_phrase,
    pronoun,
)
from lexicon import ADJECTIVES, NOUNS, PAST_TIMES, PLACES, PRESENT_TIMES, VERBS, Verb

T = TypeVar("T")
Sentence = tuple[tuple[str, str, str], str, str]
"""The combination, the English, the French."""

SIZES = {"train": 9200, "dev": 400, "test": 400}
SEED = 20
DIRECT = {"me": "me", "you": "te", "him": "le", "her": "la", "us": "nous", "them": "les"}
INDIRECT = DIRECT | {"him": "lui", "her": "lui", "them": "leur"}
SAME_PERSON = {("I", "me"), ("I", "us"), ("you", "you"), ("we", "me"), ("we", "us")}
DEFINITE = ("the", "the", "the", "this", *OWNERS)
FORMS = ("plain",) * 6 + ("not",) * 3 + ("never", "ask", "ask", "ask", "ask not", "why", "why not", "when")


class Chooser:
    """Choices from `random.random()` alone, the one method whose numbers Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one(self, choices: Sequence[T]) -> T:
        return choices[int(self._random.random() * len(choices))]

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability


# Parts of a sentence


def choose_noun_phrase(
    choose: Chooser, kinds: Sequence[str], definite: bool, negated: bool = False
) -> Phrase:
    noun = choose.one([noun for noun in NOUNS if noun.kind in kinds])
    plural = not noun.mass and choose.chance(0.35)
    indefinite = ("some", "some", *NUMBERS) if plural else ("some",) * 3 if noun.mass else ("a",) * 3
    determiner = choose.one(DEFINITE if definite else DEFINITE + indefinite)
    fitting = [adjective for adjective in ADJECTIVES if adjective.attribute and noun.kind in adjective.kinds]
    adjective = choose.one(fitting) if fitting and choose.chance(0.3) else None
    return noun_phrase(noun, determiner, adjective, plural, negated)


def choose_subject(choose: Chooser, kinds: Sequence[str], definite: bool) -> Phrase:
    if "person" in kinds and choose.chance(0.6):
        return pronoun(choose.one(list(PRONOUNS)))
    return choose_noun_phrase(choose, kinds, definite)


def choose_object(choose: Chooser, verb: Verb, negated: bool) -> Phrase:
    """What follows a verb: a pronoun, a noun phrase, or a place."""
    if "person" in verb.objects and choose.chance(0.45):
        english, french = choose.one(list((INDIRECT if verb.preposition else DIRECT).items()))
        return Phrase(english, english, [french], clitic=True)
    if verb.objects == "place":
        place = choose.one(PLACES)
        the_place = ["la" if place.feminine else "le", place.french]
        if verb.preposition:
            return Phrase(place.english, f"the {place.english}", contract(verb.preposition, the_place))
        return Phrase(place.english, f"in the {place.english}", ["dans", *the_place])
    chosen = choose_noun_phrase(
        choose, verb.objects.split(), verb.definite or bool(verb.preposition), negated
    )
    if verb.preposition:
        return Phrase(chosen.key, chosen.english, contract(verb.preposition, chosen.french))
    return chosen


# Sentences


def action(choose: Chooser, verb: Verb) -> Sentence | None:
    subject = choose_subject(choose, verb.subjects.split(), definite=choose.chance(0.8))
    form = choose.one([form for form in FORMS if verb.timed or form != "when"])
    past = bool(verb.participle) and choose.chance(0.25)
    negated = form == "never" or form.endswith("not")
    thing = choose_object(choose, verb, negated)
    if (subject.key, thing.key) in SAME_PERSON or subject.key == thing.key or (past and thing.clitic):
        return None  # no reflexive verbs; and the participle would agree with a person of unknown gender
    english, french = [thing.english], [] if thing.clitic else list(thing.french)
    if verb.timed and form not in ("never", "when") and choose.chance(0.25):
        time, temps = choose.one(list((PAST_TIMES if past else PRESENT_TIMES).items()))
        english.append(time)
        french.append(temps)
    clitics = thing.french if thing.clitic else []
    source = english_sentence(subject, verb, form, past, english)
    target = french_sentence(subject, verb, form, past, clitics, french)
    return (subject.key, verb.english, thing.key), source, target


def description(choose: Chooser) -> Sentence | None:
    """Subject, "be" and an adjective that agrees."""
    adjective = choose.one([adjective for adjective in ADJECTIVES if adjective.predicate])
    subject = choose_subject(choose, adjective.kinds, definite=True)
    form = choose.one([form for form in FORMS if form not in ("never", "when")])
    if subject.key in ("I", "you", "we") and adjective.masculine != adjective.feminine:
        return None  # English does not say the gender
    if subject.key not in PRONOUNS and adjective.english in subject.english.split(" "):
        return None  # "The small house is small."
    french = [agree(adjective, subject.feminine, subject.plural)]
    source = english_sentence(subject, BE, form, False, [adjective.english])
    target = french_sentence(subject, BE, form, False, [], french)
    return (subject.key, "be", adjective.english), source, target


# Files


def split_of(combination: tuple[str, str, str]) -> str:
    """The file that a combination belongs to: 8 of 100 each for dev and test."""
    if combination == ("I", "love", "you"):
        return "test"
    digest = hashlib.sha256(" ".join(combination).encode()).digest()
    share = int.from_bytes(digest[:4], "big") % 100
    return "test" if share < 8 else "dev" if share < 16 else "train"


def words_of(text: str) -> list[str]:
    """The words and marks of a text in either language; "j'" and "aime" are two words."""
    return re.findall(r"[\w-]+'?|[^\w\s]", text)


def draw(choose: Chooser) -> Sentence:
    while True:
        made = description(choose) if choose.chance(0.12) else action(choose, choose.one(VERBS))
        if made:
            return made


def sentences(seed: int) -> dict[str, list[tuple[str, str]]]:
    """The pairs of each file in the order in which they are drawn; no English sentence twice."""
    choose = Chooser(seed)
    files: dict[str, dict[str, str]] = {"train": {}, "dev": {}, "test": {"I love you.": "Je t'aime."}}
    train = files["train"]
    while len(train) < SIZES["train"]:
        combination, english, french = draw(choose)
        if split_of(combination) == "train":
            train[english] = french
    known = {word for pair in train.items() for text in pair for word in words_of(text)}
    while any(len(files[name]) < SIZES[name] for name in ("dev", "test")):
        combination, english, french = draw(choose)
        name = split_of(combination)
        if len(files[name]) < SIZES[name] and known.issuperset(words_of(english) + words_of(french)):
            files[name][english] = french
    return {name: list(pairs.items()) for name, pairs in files.items()}


def main(folder: Path) -> None:
    for name, pairs in sentences(SEED).items():
        lines = ["english\tfrench", *("\t".join(pair) for pair in pairs)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
