# SPDX-License-Identifier: Apache-2.0
"""training steps, predicted: layers become tasks on streams, whose collectives cost what their plans take

`whatif` answers a question. `models` has ready-made models. Each becomes a `Step` of tasks, one program for each role.
`running` runs it with shared links. Memory is not modelled."""

from hemiola.workload.model import Layer, Model
from hemiola.workload.models import named
from hemiola.workload.parallel import Parallel
from hemiola.workload.prediction import CallCost, WhatIf
from hemiola.workload.question import whatif
from hemiola.workload.resnet import resnet_50
from hemiola.workload.training import Training
from hemiola.workload.transformer import transformer

__all__ = [
    "CallCost",
    "Layer",
    "Model",
    "Parallel",
    "Training",
    "WhatIf",
    "named",
    "resnet_50",
    "transformer",
    "whatif",
]
