"""Keras layers of the Transformer; each also works by itself in any functional or subclassed model."""

from tf_transformer.layers.decoder import Decoder, DecoderBlock
from tf_transformer.layers.embedding import TokenEmbedding
from tf_transformer.layers.encoder import Encoder, EncoderBlock
from tf_transformer.layers.feed_forward import FeedForward
from tf_transformer.layers.multi_head_attention import MultiHeadAttention
from tf_transformer.layers.positional_encoding import PositionalEncoding
from tf_transformer.layers.residual import Residual

__all__ = [
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "MultiHeadAttention",
    "PositionalEncoding",
    "Residual",
    "TokenEmbedding",
]
