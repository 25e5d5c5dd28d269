"""The one normalisation of text, the same in training, serving and for references."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, get_args

import tensorflow as tf

from tf_transformer.arguments import list_of_strings

NormalForm = Literal["nfc", "nfkc"]
WhiteSpace = Literal["words", "lines", "all"]

_BATCH = 4096
_LAST_CODE_POINT = 0x10FFFF


class Normalizer(tf.Module):
    """Makes one form of text out of the many that mean the same.

    In this order: bytes that are not UTF-8 become U+FFFD; the Unicode normal form and lower case, if asked
    for; every run of white space, line breaks (U+2028 and the like too) and control characters becomes one
    space; outer spaces go. Zero-width characters stay: in some scripts they tell words apart. Applied twice
    it gives the same as once.

    Running text may keep its lines, whose ends CR, LF and CRLF become LF: each line then is what a whole text
    is by the rule above. Or it keeps all of its white space and control characters.

    Lower case goes character by character after Python's table: a final sigma has no form of its own, a
    capital I with a dot becomes an i with a combining dot. It is the same under every locale, which
    `tf.strings.lower` is not.

    Args:
        normal_form: `"nfc"` (composed characters), `"nfkc"` (compatibility forms replaced too) or `None`.
            Core TensorFlow has no normal forms: an export then needs tensorflow-text.
        lowercase: Whether to lower-case.
        keep: What is kept of white space: that there is some between `"words"`, the ends of `"lines"` too, or
            `"all"`.

    Raises:
        TypeError: `lowercase` is no truth value.
        ValueError: `normal_form` or `keep` is none of these.

    Example:

    >>> Normalizer(lowercase=True).normalize_texts(["  Zwei\\u00a0\\tHunde\\r\\n"])
    ['zwei hunde']
    """

    def __init__(
        self, normal_form: NormalForm | None = None, lowercase: bool = False, keep: WhiteSpace = "words"
    ) -> None:
        super().__init__()
        if normal_form not in (None, "nfc", "nfkc"):
            raise ValueError(f'`normal_form` must be "nfc", "nfkc" or None. Received: {normal_form!r}')
        if not isinstance(lowercase, bool):
            raise TypeError(f"`lowercase` must be True or False. Received: {lowercase!r}")
        if keep not in get_args(WhiteSpace):
            raise ValueError(f'`keep` must be "words", "lines" or "all". Received: {keep!r}')
        self.normal_form = normal_form
        self.lowercase = lowercase
        self.keep = keep
        if lowercase:
            self._lower = _lower_table()
        if normal_form:
            # Registers its operations when imported, so only where they are needed.
            import tensorflow_text

            self._to_form = tensorflow_text.normalize_utf8

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """Operations in the graph that core TensorFlow lacks; `import tensorflow_text` brings them."""
        return ("NormalizeUTF8",) if self.normal_form else ()

    @property
    def core_ops_only(self) -> bool:
        """Whether a SavedModel with this runs where only core TensorFlow is known."""
        return not self.custom_ops

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's arguments, plain."""
        options: dict[str, Any] = {"normal_form": self.normal_form, "lowercase": self.lowercase}
        # Left out where it is as it always was, so that older versions read what they understand.
        return options if self.keep == "words" else {**options, "keep": self.keep}

    def __call__(self, strings: Any) -> tf.Tensor:
        """Normalises strings in the graph.

        Args:
            strings: string tensor of any shape.

        Returns:
            string tensor of the same shape, valid UTF-8.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        strings = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", errors="replace")
        strings = self._formed(strings)
        if self.lowercase:
            # Lower-casing can leave what the form composes, as in J with a caron.
            strings = self._formed(self._lowered(strings))
        return self._spaced(strings)

    def normalize_texts(self, texts: Sequence[str]) -> list[str]:
        """Normalises Python strings, as `__call__` does; lone surrogates become U+FFFD.

        Raises:
            TypeError: `texts` is no list of strings.
        """
        texts = list_of_strings("texts", texts)
        result: list[str] = []
        for start in range(0, len(texts), _BATCH):
            batch = [text.encode("utf-8", "surrogatepass") for text in texts[start : start + _BATCH]]
            result.extend(text.decode("utf-8") for text in self(batch).numpy())
        return result

    def _spaced(self, strings: tf.Tensor) -> tf.Tensor:
        if self.keep == "words":
            strings = tf.strings.regex_replace(strings, r"[\p{Z}\p{Cc}]+", " ")
            return tf.strings.strip(strings)
        strings = tf.strings.regex_replace(strings, r"\r\n?", "\n")
        if self.keep == "lines":
            strings = tf.strings.regex_replace(strings, r"[\p{Z}\x00-\x09\x0b-\x1f\x7f-\x{9f}]+", " ")
            strings = tf.strings.regex_replace(strings, r"(?m)^ | $", "")
        return strings

    def _formed(self, strings: tf.Tensor) -> tf.Tensor:
        return self._to_form(strings, self.normal_form.upper()) if self.normal_form else strings

    def _lowered(self, strings: tf.Tensor) -> tf.Tensor:
        shape = tf.shape(strings)
        # The one character whose lower case is two of them.
        strings = tf.strings.regex_replace(tf.reshape(strings, [-1]), "İ", "i\u0307")
        codes = tf.strings.unicode_decode(strings, "UTF-8")
        shift = self._lower.lookup(tf.cast(codes.flat_values, tf.int64))
        codes = codes.with_flat_values(codes.flat_values + tf.cast(shift, tf.int32))
        return tf.reshape(tf.strings.unicode_encode(codes, "UTF-8"), shape)


@cache
def _lower_shifts() -> dict[int, int]:
    """Distance from each character to its lower case, where that is another single one."""
    pairs = ((code, chr(code).lower()) for code in range(_LAST_CODE_POINT + 1))
    return {code: ord(lower) - code for code, lower in pairs if len(lower) == 1 and ord(lower) != code}


def _lower_table() -> tf.lookup.StaticHashTable:
    shifts = _lower_shifts()
    keys = tf.constant(list(shifts), tf.int64)
    values = tf.constant(list(shifts.values()), tf.int64)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), default_value=0)
