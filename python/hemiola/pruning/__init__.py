"""Gradients whose largest elements are sent now and whose rest is sent later: what makes the zeros that `sparse=True`
leaves out."""

from hemiola.pruning.pruner import Pruner

__all__ = ["Pruner"]
