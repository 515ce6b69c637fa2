# SPDX-License-Identifier: Apache-2.0
"""Keeps torch.compile out of this package: a group is no program to trace, and PyTorch refuses to look into one."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch


def leave_to_python(*kinds: Any) -> None:
    """Have compiled programs run these classes' methods, and the functions that they call, untraced.

    Costs nothing when they are called, where `torch.compiler.disable` would cost microseconds. Does nothing where
    PyTorch's compiler does not tell code objects apart like this.
    """
    compiler = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    if compiler is None or not hasattr(compiler, "set_code_exec_strategy"):
        return
    skip = compiler._FrameAction.SKIP
    for kind in kinds:
        for base in kind.__mro__:
            if not base.__module__.startswith("hemiola."):
                continue
            for member in vars(base).values():
                if isinstance(member, FunctionType):
                    strategy = compiler._FrameExecStrategy(skip, skip)
                    compiler.set_code_exec_strategy(member.__code__, strategy)
