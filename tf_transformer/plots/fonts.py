"""Letters of every script: the fonts that have them, and code points where none does."""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

DEFAULT = "DejaVu Sans"
"""Comes with Matplotlib, and has Latin, Greek, Cyrillic, Arabic, Hebrew and many signs."""
_PREFERRED = (
    "Noto Sans CJK", "Noto Sans", "Source Han Sans", "PingFang", "Hiragino Sans", "Microsoft YaHei",
    "WenQuanYi Micro Hei", "Arial Unicode",
)  # fmt: skip
"""Beginnings of the names of fonts that are taken before others: plain ones that have many letters."""
_NO_LETTERS = ("Last Resort", "Noto Color Emoji", "Apple Color Emoji", "cm", "STIX")
"""Beginnings of the names of fonts that draw boxes, pictures that Matplotlib cannot draw, or formulas."""
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Kinds of characters that no font shows."""

_families: dict[str, str | None] = {}
"""The font of each character that was asked for; None where there is none."""
_untold: dict[str, None] = {}
"""Characters that are written as code points for want of a font, until somebody was told."""


class Lettering(NamedTuple):
    """Texts as they can be drawn.

    Args:
        texts: The same, with the code points of what cannot be drawn.
        style: Keywords of Matplotlib's texts: the fonts, and that a dollar sign begins no formula.
    """

    texts: list[str]
    style: dict[str, Any]


def lettering(texts: Iterable[str]) -> Lettering:
    """How to draw texts of any script, so that none of their letters is an empty box.

    Args:
        texts: Any strings.

    Returns:
        The texts and their style. A letter that no font of this machine has, and what cannot be seen, such as
        a character of no width, is written as ``U+4E2D``; see `missing_note`.
    """
    texts = list(texts)
    unknown = dict.fromkeys(char for text in texts for char in text if char not in _families)
    if unknown:
        _find(list(unknown))
    found = dict.fromkeys(_families[char] for text in texts for char in text)
    families = [DEFAULT, *(name for name in found if name not in (None, DEFAULT))]
    return Lettering([_written(text) for text in texts], {"fontfamily": families, "parse_math": False})


def put(write: Callable[..., Any], text: str, **style: Any) -> Any:
    """Calls a method of Matplotlib that takes a text, such as ``axes.set_title``, with lettering."""
    found = lettering([text])
    return write(found.texts[0], **found.style, **style)


def add_legend(axes: Any, **style: Any) -> Any:
    """The legend of axes, with lettering."""
    legend = axes.legend(**style)
    found = lettering(text.get_text() for text in legend.get_texts())
    for drawn, text in zip(legend.get_texts(), found.texts, strict=True):
        drawn.set(text=text, **found.style)
    return legend


def missing_note() -> str | None:
    """One line about letters that no font has, told once; None where there is no news."""
    if not _untold:
        return None
    first = "".join(list(_untold)[:8]) + ("…" if len(_untold) > 8 else "")
    example = f"U+{ord(next(iter(_untold))):04X}"
    _untold.clear()
    return (
        f"no font of this machine has {first}, so code points such as {example} are drawn. A font helps: for "
        "Chinese, Japanese and Korean the Debian package fonts-wqy-microhei or fonts-noto-cjk"
    )


def _written(text: str) -> str:
    """The text with code points in place of what cannot be drawn, apart from each other by a space."""
    parts: list[str] = []
    for char in text:
        missing = _families[char] is None
        if missing and parts and parts[-1].startswith("U+"):
            parts.append(" ")
        parts.append(f"U+{ord(char):04X}" if missing else char)
    return "".join(parts)


def _find(characters: Sequence[str]) -> None:
    """Remembers the font of each character, looking no further than needed."""
    visible = {ord(char): char for char in characters if unicodedata.category(char) not in _INVISIBLE}
    _families.update(dict.fromkeys(characters))
    wanted = set(visible)
    for take in (_known_fonts, _new_fonts):
        if not wanted:
            return
        for name, covered in take():
            found = wanted & covered
            _families.update((visible[code], name) for code in found)
            wanted -= found
            if not wanted:
                return
    _untold.update((visible[code], None) for code in sorted(wanted))


def _known_fonts(names: Collection[str] | None = None) -> Iterator[tuple[str, set[int]]]:
    """The upright fonts that Matplotlib knows, one a family, and the characters that each has."""
    entries: dict[str, Any] = {}
    for entry in font_manager.fontManager.ttflist:
        upright = entry.style == "normal" and entry.variant == "normal"
        if upright and entry.weight in (400, "normal", "regular") and not entry.name.startswith(_NO_LETTERS):
            entries.setdefault(entry.name, entry)
    for name in sorted(entries if names is None else entries.keys() & names, key=_rank):
        yield name, _characters(entries[name].fname, getattr(entries[name], "index", 0))


def _new_fonts() -> Iterator[tuple[str, set[int]]]:
    """Fonts that were installed after Matplotlib last made its list."""
    manager = font_manager.fontManager
    known, before = {entry.fname for entry in manager.ttflist}, len(manager.ttflist)
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        with suppress(OSError, RuntimeError):  # one that Matplotlib cannot read
            manager.addfont(path)
    yield from _known_fonts({entry.name for entry in manager.ttflist[before:]})


def _rank(name: str) -> tuple[int, str]:
    """A font's place among others: Matplotlib's own, those that are preferred, and the rest by name."""
    if name == DEFAULT:
        return 0, name
    places = (place for place, prefix in enumerate(_PREFERRED, 1) if name.startswith(prefix))
    return next(places, len(_PREFERRED) + 1), name


def _characters(path: str | Path, index: int) -> set[int]:
    """The characters that a face of a font file has."""
    with suppress(OSError, RuntimeError):
        # Older versions of Matplotlib read the first face of a collection alone.
        face: dict[str, Any] = {"face_index": index} if index else {}
        return set(FT2Font(str(path), **face).get_charmap())
    return set()
