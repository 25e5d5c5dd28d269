"""CTranslate2 with the same weights: its own `translate_batch`, sorted and batched by itself.

Settings: those of `passes.py`; folder (its model), compute_type, threads, batch (its `max_batch_size`, in
tokens), length_penalty. Takes pieces and gives pieces: neither cutting nor joining text is in its time.
"""

from collections.abc import Sequence
from typing import Any

import ctranslate2
from passes import compete
from slices import settings


def main() -> None:
    """Decodes until the race is over."""
    given = settings()
    translator = ctranslate2.Translator(
        given["folder"], device="cpu", compute_type=given["compute_type"], intra_threads=given["threads"]
    )

    def decode(sentences: Sequence[dict[str, Any]], size: int) -> list[list[str]]:
        results = translator.translate_batch(
            [sentence["pieces"] for sentence in sentences],
            beam_size=size,
            length_penalty=given["length_penalty"],
            max_batch_size=given["batch"],
            batch_type="tokens",
        )
        return [result.hypotheses[0] for result in results]

    compete(given, decode)


if __name__ == "__main__":
    main()
