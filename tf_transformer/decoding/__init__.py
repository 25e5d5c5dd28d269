"""Searches over any step function with a cache."""

from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.greedy import greedy_search
from tf_transformer.decoding.length_penalty import LengthFormula, ranking_score
from tf_transformer.decoding.search_result import SearchResult

__all__ = ["LengthFormula", "SearchResult", "beam_search", "greedy_search", "ranking_score"]
