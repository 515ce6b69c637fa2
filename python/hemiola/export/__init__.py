# SPDX-License-Identifier: Apache-2.0
"""Schedules in the formats of other programs: docs/how-to/export.md. A file per format."""

from hemiola.export.chakra import chakra_traces
from hemiola.export.mscclpp import mscclpp_plan
from hemiola.export.nccl_graph import nccl_graph
from hemiola.export.nccl_program import nccl_program

__all__ = ["chakra_traces", "mscclpp_plan", "nccl_graph", "nccl_program"]
