# SPDX-License-Identifier: Apache-2.0
"""Loading the accelerator where it has been compiled, and making a group's operations of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from importlib.machinery import ExtensionFileLoader
from typing import Any

import numpy as np
import torch

from hemiola import environment
from hemiola._core import Communicator, Complaint
from hemiola.errors import ArgumentError
from hemiola.torch.accelerator.compiling import MODULE, compiled_file
from hemiola.torch.callbacks import also_ask
from hemiola.torch.recorder import Recorder
from hemiola.torch.reductions import NAMES
from hemiola.torch.tensors import content, values

#: PyTorch's types of which an element is one to the core, too.
_TYPES = (
    *("float16", "bfloat16", "float32", "float64", "bool", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
)


def operations_of(core: Communicator, limit_s: float, recorder: Recorder) -> Any | None:
    """Return the compiled operations of a communicator; None where they are not compiled, or not wanted.

    Parameters
    ----------
    core : the core of a hemiola.Communicator.
    limit_s : how long its operations may take where nothing is said.
    recorder : which shows what they note.

    Raises
    ------
    ArgumentError where HEMIOLA_TORCH_ACCELERATOR asks for an accelerator that has not been compiled.
    """
    wanted = environment.TORCH_ACCELERATOR.value()
    module = None if wanted == "off" else _module()
    if module is None:
        if wanted == "on":
            raise ArgumentError(
                f"{environment.TORCH_ACCELERATOR.name}=on: expected the accelerator compiled for PyTorch "
                f"{torch.__version__}, found none; run 'hemiola accelerate' on this host"
            )
        return None
    operations = module.Operations(core, limit_s, NAMES, _types(values), _types(content), recorder.failed)
    recorder.compiled = operations.notes
    return operations


@cache
def _module() -> Any | None:
    path = compiled_file()
    if path is None:
        return None
    loader = ExtensionFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    also_ask(module.issued_by_callback)
    return module


@cache
def _types(show: Callable[[Any], Any]) -> dict[Any, str]:
    """Return by PyTorch's type what the core takes its elements for."""
    types = [getattr(torch, name) for name in _TYPES if hasattr(torch, name)]
    arrays = {dtype: show(torch.empty(1, dtype=dtype)) for dtype in types}
    return {
        dtype: np.dtype(array.dtype).name
        for dtype, array in arrays.items()
        if not isinstance(array, Complaint)
    }
