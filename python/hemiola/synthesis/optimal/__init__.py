# SPDX-License-Identifier: Apache-2.0
"""Schedules from integer programs, as SCCL and TACCL make them: optimal in their models, for tens of ranks at most.

They are competitors to measure `hemiola.synthesize` against, and proofs of the optimum for a small graph."""

from hemiola.synthesis.optimal.integer_program import Outcome
from hemiola.synthesis.optimal.sccl import sccl
from hemiola.synthesis.optimal.taccl import taccl

__all__ = ["Outcome", "sccl", "taccl"]
