"""Figures as a person calls and reads them; nothing heavy is imported for that."""

_TITLES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "macro_f1": "macro-F1", "ece": "ECE"}
_SHARES = ("accuracy", "macro_f1")


def figure_title(name: str) -> str:
    """What a figure is called: ``nats a character`` for ``nats_per_character``."""
    return _TITLES.get(name, name.replace("_per_", " a ").replace("_", " "))


def figure_number(name: str, value: float) -> str:
    """The value of a figure, in its unit and with as many digits as say something."""
    if name.endswith(_SHARES):
        return f"{value:.2%}"
    return f"{value:.3f}" if name.endswith("loss") or "_per_" in name else f"{value:.2f}"


def figure_text(name: str, value: float) -> str:
    """A figure with its value."""
    return f"{figure_title(name)} {figure_number(name, value)}"
