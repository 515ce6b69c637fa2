# SPDX-License-Identifier: Apache-2.0
"""The backend "hemiola" of torch.distributed, and functions for scripts that know it.

`torch.distributed.init_process_group("hemiola")` needs no import of this where PyTorch loads entry points (from 2.5 on,
unless TORCH_DEVICE_BACKEND_AUTOLOAD=0); importing it makes the backend known, too. docs/reference/pytorch.md lists the
differences from gloo."""

from hemiola.environment.packages import require

require("torch")

from hemiola.diagnosis.recorded_trace import save_trace
from hemiola.torch.bfloat16_gradients import BFloat16Gradients
from hemiola.torch.explaining import diagnose, explain
from hemiola.torch.options import Options
from hemiola.torch.pruned_gradients import PrunedGradients
from hemiola.torch.quantized_gradients import QuantizedGradients
from hemiola.torch.records import save_records
from hemiola_autoload import register

__all__ = [
    "BFloat16Gradients",
    "Options",
    "PrunedGradients",
    "QuantizedGradients",
    "diagnose",
    "explain",
    "save_records",
    "save_trace",
]

register()
