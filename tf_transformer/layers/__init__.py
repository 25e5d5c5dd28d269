"""Keras layers of the Transformer; each also works by itself in any functional or subclassed model."""

from tf_transformer.layers.augmentation import Augmentation
from tf_transformer.layers.convolution import ConvolutionalStem
from tf_transformer.layers.decoder import Decoder, DecoderBlock
from tf_transformer.layers.embedding import TokenEmbedding
from tf_transformer.layers.encoder import Encoder, EncoderBlock
from tf_transformer.layers.feed_forward import FeedForward
from tf_transformer.layers.multi_head_attention import MultiHeadAttention
from tf_transformer.layers.patches import PatchEmbedding
from tf_transformer.layers.pooling import AttentionPooling, Pooling
from tf_transformer.layers.positional_encoding import PositionalEncoding
from tf_transformer.layers.residual import Residual
from tf_transformer.layers.text_embedding import TextEmbedding
from tf_transformer.layers.vectors import VectorEmbedding

__all__ = [
    "AttentionPooling",
    "Augmentation",
    "ConvolutionalStem",
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "MultiHeadAttention",
    "PatchEmbedding",
    "Pooling",
    "PositionalEncoding",
    "Residual",
    "TextEmbedding",
    "TokenEmbedding",
    "VectorEmbedding",
]
