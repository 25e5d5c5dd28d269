"""Tokens that are written into texts, such as the markers of entities, and that text cannot forge.

A special token is found in the raw text, by its exact spelling and nowhere else: what only normalisation
makes look like one (``<E1>`` in lower case, full-width ``＜e1＞`` in a compatibility form) stays text, and
the pieces of text never have its id. Between the raw text and its ids a token is one control character, which
no normalised text holds.
"""

from collections.abc import Sequence
from typing import Any, Final

import tensorflow as tf

from tf_transformer.arguments import list_of_strings
from tf_transformer.presets import MOST_SPECIAL_TOKENS
from tf_transformer.text.normalizer import NormalForm, Normalizer

# Control characters that neither Python nor TensorFlow takes for white space.
_CODES: Final = "".join(
    chr(code) for code in (*range(0x01, 0x09), *range(0x0E, 0x1C), *range(0x80, 0xA0)) if code != 0x85
)
_BORDER: Final = "\x1f"


class MarkingNormalizer(Normalizer):
    """A normalizer that finds special tokens, and keeps them apart from the text around them.

    What it returns is for `split` and for people (`spell`), not to be normalised again: a second time its
    codes would be control characters of a text like any others, and go.

    Args:
        special_tokens: How the tokens are spelled, each once.
        normal_form: This and `lowercase`: see `Normalizer`; they are for what stands between the tokens.
        once: Whether a text must hold each token, and no one twice, as where they mark what is asked about.

    Raises:
        TypeError: `special_tokens` is no list of strings, or `lowercase` no truth value.
        ValueError: There are no special tokens or too many, one is there twice, or one is empty or has white
            space, control characters or line breaks; or there is no such `normal_form`.

    Example:

    >>> normalizer = MarkingNormalizer(["<sep>"], lowercase=True)
    >>> normalizer.spell(normalizer.normalize_texts(["One<sep>Two <SEP>"]))
    ['one <sep> two <sep>']
    >>> text, token = normalizer.split(normalizer(["One<sep>Two <SEP>"]))
    >>> text.to_list(), token.to_list()
    ([[b'one', b'', b'two <sep>']], [[-1, 0, -1]])
    """

    def __init__(
        self,
        special_tokens: Sequence[str],
        normal_form: NormalForm | None = None,
        lowercase: bool = False,
        once: bool = False,
    ) -> None:
        super().__init__(normal_form, lowercase)
        self.special_tokens = tuple(list_of_strings("special_tokens", special_tokens))
        _check(self.special_tokens)
        self.once = bool(once)
        self._codes = _CODES[: len(self.special_tokens)]
        keys, values = tf.constant(list(self._codes)), tf.range(len(self._codes), dtype=tf.int64)
        self._table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's arguments, plain."""
        return {**super().options, "special_tokens": list(self.special_tokens), "once": self.once}

    def __call__(self, strings: Any) -> tf.Tensor:
        """Normalises strings in the graph, each special token becoming its code with a space around it.

        Args:
            strings: string tensor `[B]`, raw.

        Returns:
            string tensor `[B]`, valid UTF-8.
        """
        text, token = self.split(self._coded(tf.convert_to_tensor(strings, tf.string)))
        normal = super().__call__(text.flat_values)
        codes = tf.gather(tf.constant(["", *self._codes]), token.flat_values + 1)
        parts = text.with_flat_values(tf.where(token.flat_values < 0, normal, codes))
        joined = tf.strings.reduce_join(parts, axis=-1, separator=" ")
        return tf.strings.strip(tf.strings.regex_replace(joined, " +", " "))

    def _coded(self, strings: tf.Tensor) -> tf.Tensor:
        """Special tokens as their codes, and other control characters as spaces."""
        strings = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", errors="replace")
        strings = tf.strings.regex_replace(strings, r"\p{Cc}", " ")
        # A token that is a part of another one must not be found inside of that.
        for token in sorted(self.special_tokens, key=len, reverse=True):
            code = self._codes[self.special_tokens.index(token)]
            strings = tf.strings.regex_replace(strings, _literally(token), code)
        return strings

    def split(self, strings: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """The parts of normalised texts: text, and special tokens.

        Args:
            strings: string `[B]` that this normalizer has returned.

        Returns:
            The text of each part, ragged string `[B, None]`, empty where the part is a token; and the number
            of the token, ragged int64 of the same shape, -1 where the part is text.
        """
        bordered = tf.strings.regex_replace(strings, f" *([{self._codes}]) *", rf"{_BORDER}\1{_BORDER}")
        parts = tf.strings.split(bordered, _BORDER)
        token = parts.with_flat_values(self._table.lookup(parts.flat_values))
        text = tf.where(token.flat_values < 0, parts.flat_values, "")
        return parts.with_flat_values(text), token

    def fault(self, text: str) -> str | None:
        """What is wrong with a normalised text that must hold each token once, or None."""
        counts = {
            token: text.count(code) for token, code in zip(self.special_tokens, self._codes, strict=True)
        }
        wrong = [f"{token} {count} times" for token, count in counts.items() if count != 1]
        if not self.once or not wrong:
            return None
        return f"must hold each of {' '.join(self.special_tokens)} once. Received: {', '.join(wrong)}"

    def spell(self, texts: Sequence[str]) -> list[str]:
        """Normalised texts as a person writes them: each code as its token again."""
        spelling = {ord(code): token for code, token in zip(self._codes, self.special_tokens, strict=True)}
        return [text.translate(spelling) for text in texts]


def _literally(token: str) -> str:
    """The regular expression that matches this text alone."""
    return "".join(rf"\x{{{ord(character):x}}}" for character in token)


def _check(tokens: tuple[str, ...]) -> None:
    rule = f"`special_tokens` must be 1 to {MOST_SPECIAL_TOKENS} different texts without white space"
    if not 0 < len(tokens) <= MOST_SPECIAL_TOKENS:
        raise ValueError(f"{rule}. Received: {len(tokens)}")
    for place, token in enumerate(tokens):
        if not token or not token.isprintable() or any(character.isspace() for character in token):
            raise ValueError(f"{rule}. Received: {token!r}")
        if token in tokens[:place]:
            raise ValueError(f"{rule}. Received: {token!r} twice")
