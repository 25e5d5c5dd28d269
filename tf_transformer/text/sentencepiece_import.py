"""SentencePiece model files of other tools, brought to our special ids."""

from functools import cache

from tf_transformer.presets import END_ID, PAD_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID
from tf_transformer.text.sentencepiece_model import parse_model, special_piece
from tf_transformer.text.sentencepiece_training import run_trainer


def with_our_ids(content: bytes, name: str) -> bytes:
    """Brings a model of another tool to our special ids; the other pieces follow in their order.

    A model without a normalisation table gets ours, see `sentencepiece_training`.

    Raises:
        TextError: The content is not a SentencePiece model.
    """
    model = parse_model(content, name)
    kinds = type(model).SentencePiece
    spec = model.trainer_spec
    spellings = {PAD_ID: spec.pad_piece, START_ID: spec.bos_piece, END_ID: spec.eos_piece}
    found: dict[int, int] = {}
    for index, piece in enumerate(model.pieces):
        if piece.type == kinds.UNKNOWN:
            found[UNKNOWN_ID] = index
        elif piece.type == kinds.CONTROL:
            for special, spelling in spellings.items():
                if piece.piece == spelling:
                    found[special] = index
    pieces = [special_piece(kinds, special) for special in range(len(SPECIAL_TOKENS))]
    pieces += [piece for index, piece in enumerate(model.pieces) if index not in found.values()]
    del model.pieces[:]
    model.pieces.extend(pieces)
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = PAD_ID, UNKNOWN_ID, START_ID, END_ID
    spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece = SPECIAL_TOKENS
    if not model.normalizer_spec.precompiled_charsmap:
        # The way back needs the whole of its settings: the defaults would add spaces to the text.
        forth, back = _escape_rules()
        model.normalizer_spec.precompiled_charsmap = forth
        model.denormalizer_spec.ParseFromString(back)
    ours: bytes = model.SerializeToString(deterministic=True)
    parse_model(ours, name)
    return ours


@cache
def _escape_rules() -> tuple[bytes, bytes]:
    """Returns the table that escapes and the settings that undo it, out of a model trained for them."""
    content = run_trainer(iter(["a"]), vocab_size=6, model_type="bpe", byte_fallback=False)
    model = parse_model(content, "the model of the escapes")
    model.denormalizer_spec.normalization_rule_tsv = ""
    return model.normalizer_spec.precompiled_charsmap, model.denormalizer_spec.SerializeToString()
