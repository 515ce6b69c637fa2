# SPDX-License-Identifier: Apache-2.0
"""The part that can be compiled against one PyTorch so that a group's operations go from PyTorch to the engine without
Python.

Nobody has to, and nothing is compiled unasked: `hemiola accelerate` does it once per host, PyTorch and version.
"""

from hemiola.torch.accelerator.compiling import compile_for_torch, compiled_file
from hemiola.torch.accelerator.loading import operations_of

__all__ = ["compile_for_torch", "compiled_file", "operations_of"]
