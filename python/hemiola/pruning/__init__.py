# SPDX-License-Identifier: Apache-2.0
"""Gradients whose largest elements are sent now and whose rest is sent later. So they have zeros, which `sparse=True`
leaves out."""

from hemiola.pruning.pruner import Pruner

__all__ = ["Pruner"]
