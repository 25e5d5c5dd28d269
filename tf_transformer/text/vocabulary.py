"""The list of tokens of a tokenizer, and its file: one token a line, the id is the line's number less one.

In the file, characters that an editor or a reader of lines could take apart (white space, controls, the odd
line breaks U+0085, U+2028 and so on) stand as ``\\uXXXX`` or ``\\UXXXXXXXX``; so the number of lines is the
size of the vocabulary whatever the corpus held.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text.storage import read_bytes

# What other tools call our four special tokens; they move to ids 0 to 3 when such a file is imported.
_FOREIGN_SPECIALS = (
    {"<pad>", "[PAD]", "<blank>"},
    {"<unk>", "[UNK]"},
    {"<s>", "<bos>", "[BOS]", "[CLS]"},
    {"</s>", "<eos>", "[EOS]", "[SEP]"},
)
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_COUNTED = re.compile(rf"(\S+)[\t ]({_NUMBER})")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")


@dataclass(frozen=True)
class Vocabulary:
    """Tokens by id; the first four are the special tokens of `presets.SPECIAL_TOKENS`.

    Args:
        tokens: Every token, special ones included, each once.

    Raises:
        ValueError: A special token is missing or elsewhere, or a token is empty or there twice.
    """

    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.tokens[: len(SPECIAL_TOKENS)] != SPECIAL_TOKENS:
            received = self.tokens[: len(SPECIAL_TOKENS)]
            raise ValueError(f"`tokens` must begin with {SPECIAL_TOKENS}. Received: {received}")
        seen: set[str] = set()
        for index, token in enumerate(self.tokens):
            if not token or token in seen:
                raise ValueError(f"`tokens` must be distinct and not empty. Received: {token!r} at {index}")
            seen.add(token)

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def of(cls, tokens: Iterable[str]) -> "Vocabulary":
        """Returns the vocabulary of the special tokens followed by `tokens`."""
        return cls((*SPECIAL_TOKENS, *tokens))

    @property
    def ordinary(self) -> tuple[str, ...]:
        """The tokens that text can become: all but the special ones."""
        return self.tokens[len(SPECIAL_TOKENS) :]

    def to_bytes(self) -> bytes:
        """Returns the content of a vocabulary file, UTF-8, every line ended by a line feed."""
        return "".join(escape(token) + "\n" for token in self.tokens).encode("utf-8")


def escape(token: str) -> str:
    """Returns a token as it stands in a vocabulary file."""
    token = _ESCAPE.sub(lambda match: "\\u005c" + match.group()[1:], token)
    return "".join(_escaped(character) if _must_escape(character) else character for character in token)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _must_escape(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp", "Zs"} or character == "\ufeff"


def unescape(line: str) -> str:
    """Returns the token that a line of a vocabulary file stands for."""

    def character(match: re.Match[str]) -> str:
        code = int(match.group(1) or match.group(2), 16)
        return chr(code) if code <= 0x10FFFF else match.group()

    return _ESCAPE.sub(character, line)


def read_vocabulary(path: str | Path) -> Vocabulary:
    """Reads a vocabulary file, ours or one of another tool.

    A second column of counts or scores, as some tools write it, is read and left out. Special tokens are
    found by their usual names (`<pad>`, `[PAD]`, `<unk>`, `[UNK]`, `<s>`, `</s>` …) wherever they stand and
    get ids 0 to 3; the other tokens follow in the order of the file.

    Args:
        path: A UTF-8 file with one token a line.

    Returns:
        The vocabulary.

    Raises:
        TextError: A line holds no token, a control character or line break, white space inside a token, or a
            token that was there before, or the file is not UTF-8; the message names file and line.
    """
    path = Path(path)
    specials: dict[int, int] = {}
    lines: dict[str, int] = {}
    for number, token in _numbered_tokens(path):
        special = next((i for i, names in enumerate(_FOREIGN_SPECIALS) if token in names), None)
        first = lines.get(token) if special is None else specials.get(special)
        if first is not None:
            raise TextError(
                f"{path}, line {number}: a token must be there once. "
                f"Received: {token!r}, which line {first} has"
            )
        if special is None:
            lines[token] = number
        else:
            specials[special] = number
    if not lines:
        raise TextError(f"{path}: must hold a token that is not special. Received: {len(specials)} lines")
    return Vocabulary.of(lines)


def _numbered_tokens(path: Path) -> list[tuple[int, str]]:
    lines = decode_lines(path)
    plain = [line for line in lines if not _is_special(line)]
    counted = bool(plain) and all(_COUNTED.fullmatch(line) for line in plain)
    return [(number, _token(path, number, line, counted)) for number, line in enumerate(lines, start=1)]


def _is_special(line: str) -> bool:
    return any(line in names for names in _FOREIGN_SPECIALS)


def _token(path: Path, number: int, line: str, counted: bool) -> str:
    match = _COUNTED.fullmatch(line) if counted else None
    line = match.group(1) if match else line
    for character in line:
        if _must_escape(character):
            rule = "a token must not hold white space, control characters or line breaks"
            advice = f"write {_escaped(character)} for one, or give every line a second column"
            raise TextError(f"{path}, line {number}: {rule} ({advice}). Received: {line!r}")
    if not line:
        raise TextError(f"{path}, line {number}: a line must hold a token. Received: an empty line")
    return unescape(line)


def decode_lines(path: Path) -> list[str]:
    """Returns the lines of a UTF-8 file, split at line feeds alone (CRLF too when every line ends so)."""
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"{path}, line {number}: must be UTF-8. "
            f"Received: byte 0x{content[error.start]:02X} at offset {error.start}"
        ) from error
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if lines and all(line.endswith("\r") for line in lines):
        lines = [line[:-1] for line in lines]
    return lines


def read_saved(path: Path, content_size: int) -> Vocabulary:
    """Reads a vocabulary file that `Vocabulary.to_bytes` wrote and whose size is known.

    Raises:
        TextError: The number of lines is another, or a line is not as it was written.
    """
    lines = decode_lines(path)
    if len(lines) != content_size:
        raise TextError(
            f"{path}: must have {content_size} lines, the size of the vocabulary that was saved. "
            f"Received: {len(lines)} lines"
        )
    try:
        return Vocabulary(tuple(unescape(line) for line in lines))
    except ValueError as error:
        raise TextError(f"{path}: {error}") from error
