"""Every kind of tokenizer, and a text that is hard for each."""

from tf_transformer.text import Tokenizer

KINDS = ["sentencepiece", "wordpiece", "words", "characters", "bytes"]
CORE_KINDS = ["words", "characters", "bytes"]

CORPUS = [
    "<pad> is a token", "say <s> and </s>", "an <unk> word", "[MASK] me", "<|endoftext|> now", "▁under ▁",
    "low@@ er case@@", "<2de> translate", '{"a": 1}', "%s %d {} \\n \\t", "<0x41> ##ing ￭x ￭",
    "￭￭ a_b don't 3.14", "Äpfel, Öl und Übermut!", "我喜欢茶。", "an \u200bapple",
]  # fmt: skip


def round_trip(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """Texts through ids and back."""
    return [text.decode() for text in tokenizer.detokenize(tokenizer.tokenize(texts)).numpy()]
