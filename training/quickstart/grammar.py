"""The grammar of the quickstart phrases: parts of sentences, and sentences, in both languages."""

import re
from dataclasses import dataclass

from lexicon import ENGLISH_PERSONS, Adjective, Noun, Verb

HE, THEY = 2, 4  # columns of the tables of forms
PRONOUNS = {"I": "je", "you": "tu", "he": "il", "she": "elle", "we": "nous", "they": "ils"}
OWNERS = {
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
NUMBERS = {"two": "deux", "three": "trois"}
AVOIR = ("ai", "as", "a", "avons", "ont")
BE = Verb("be", "", ("suis", "es", "est", "sommes", "sont"), "", objects="")


@dataclass(frozen=True)
class Phrase:
    """A part of a sentence in both languages; `key` names it in a combination."""

    key: str
    english: str
    french: list[str]
    person: int = HE
    feminine: bool = False
    plural: bool = False
    clitic: bool = False


# French spelling


def begins_with_vowel(word: str) -> bool:
    """Whether a word takes the elided form before it. Every h of the lexicon is mute."""
    return word[0].lower() in "aeiouhàâéèêîôœ"


def french_plural(word: str) -> str:
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith("eau") else "s")


def join(words: list[str]) -> str:
    """Joins words with spaces, or with an apostrophe where French elides."""
    text = words[-1]
    for word, following in zip(reversed(words[:-1]), reversed(words[1:]), strict=True):
        elided = word in ("le", "la", "je", "me", "te", "ne", "de", "que") and begins_with_vowel(following)
        text = (word[:-1] + "'" if elided else word + " ") + text
    return text


def contract(preposition: str, words: list[str]) -> list[str]:
    """à + le = au, à + les = aux, de + le = du, de + les = des; not before an elided article."""
    forms = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
    if (preposition, words[0]) in forms and not (words[0] == "le" and begins_with_vowel(words[1])):
        return [forms[preposition, words[0]], *words[1:]]
    return [preposition, *words]


def agree(adjective: Adjective, feminine: bool, plural: bool, following: str = "") -> str:
    form = adjective.feminine if feminine else adjective.masculine
    if plural:
        return french_plural(form)
    if adjective.before_vowel and not feminine and following and begins_with_vowel(following):
        return adjective.before_vowel
    return form


# Noun phrases


def french_determiner(determiner: str, noun: Noun, plural: bool, rest: list[str], bare: bool) -> list[str]:
    """The determiner in front of `rest`, joined to it.

    Args:
        bare: "a" and "some" become "de", as after a negation, and as "des" does before an adjective.
    """
    vowel = begins_with_vowel(rest[0])
    if determiner == "the":
        return ["les" if plural else "la" if noun.feminine else "le", *rest]
    if determiner == "this":
        singular = "cette" if noun.feminine else "cet" if vowel else "ce"
        return ["ces" if plural else singular, *rest]
    if determiner in OWNERS:
        masculine, feminine, several = OWNERS[determiner]
        return [several if plural else feminine if noun.feminine and not vowel else masculine, *rest]
    if determiner in NUMBERS:
        return [NUMBERS[determiner], *rest]
    if bare:
        return ["de", *rest]
    if plural:
        return ["des", *rest]
    if noun.mass:
        return contract("de", ["la" if noun.feminine else "le", *rest])
    return ["une" if noun.feminine else "un", *rest]


def noun_phrase(
    noun: Noun, determiner: str, adjective: Adjective | None, plural: bool, negated: bool = False
) -> Phrase:
    """A noun with its determiner and perhaps an adjective; `negated` for the direct object of a negation."""
    head = french_plural(noun.french) if plural else noun.french
    rest = [head]
    if adjective:
        form = agree(adjective, noun.feminine, plural, following=head)
        rest = [form, head] if adjective.first else [head, form]
    bare = negated or bool(plural and adjective and adjective.first)
    french = french_determiner(determiner, noun, plural, rest, bare)
    english = ([adjective.english] if adjective else []) + [noun.plural if plural else noun.english]
    spelled = determiner
    if determiner == "a" and english[0][0] in "aeiou":
        spelled = "an"
    elif determiner == "this" and plural:
        spelled = "these"
    elif determiner == "some" and negated:
        spelled = "any"
    return Phrase(
        noun.english, " ".join([spelled, *english]), french, THEY if plural else HE, noun.feminine, plural
    )


def pronoun(english: str) -> Phrase:
    person = ENGLISH_PERSONS.index("he" if english == "she" else english)
    return Phrase(english, english, [PRONOUNS[english]], person, english == "she", person > 2)


# Sentences


def third_person(verb: str) -> str:
    first, *rest = verb.split(" ")
    if first == "have":
        first = "has"
    elif re.search("(s|sh|ch|x|o)$", first):
        first += "es"
    else:
        first = first[:-1] + "ies" if re.search("[^aeiou]y$", first) else first + "s"
    return " ".join([first, *rest])


def english_sentence(subject: Phrase, verb: Verb, form: str, past: bool, rest: list[str]) -> str:
    """Subject, verb and `rest` with English word order: do-support, except for "be"."""
    third = subject.person == HE
    negation = ["not"] if form.endswith("not") else []
    finite = verb.past if past else third_person(verb.english) if third else verb.english
    helper, base = "did" if past else "does" if third else "do", [verb.english]
    if verb.english == "be":
        finite = helper = ("am", "are", "is", "are", "are")[subject.person]
        base = []
    if form == "plain":
        words = [subject.english, finite]
    elif form == "never":
        words = [subject.english, "never", finite]
    elif form == "not":
        words = [subject.english, helper, "not", *base]
    else:
        question = [form.split(" ")[0]] if form.startswith(("why", "when")) else []
        words = [*question, helper, subject.english, *negation, *base]
    mark = "." if form in ("plain", "not", "never") else "?"
    text = " ".join([*words, *rest]) + mark
    return text[0].upper() + text[1:]


def french_sentence(
    subject: Phrase, verb: Verb, form: str, past: bool, clitics: list[str], rest: list[str]
) -> str:
    """Subject, verb and `rest` with French word order: (est-ce que) subject ne clitic verb pas."""
    negation = "jamais" if form == "never" else "pas" if form.endswith("not") else ""
    words = [*subject.french, *(["ne"] if negation else []), *clitics]
    words.append(AVOIR[subject.person] if past else verb.present[subject.person])
    words += [negation] * bool(negation) + [verb.participle] * past + rest
    if form in ("plain", "not", "never"):
        text = join(words) + "."
    else:
        opening = {"why": ["pourquoi"], "when": ["quand"]}.get(form.split(" ")[0], [])
        text = join([*opening, "est-ce", "que", *words]) + " ?"
    return text[0].upper() + text[1:]
