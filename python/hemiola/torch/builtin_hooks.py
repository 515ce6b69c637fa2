# SPDX-License-Identifier: Apache-2.0
"""DDP's hooks in C++ on groups in Python: FP16_COMPRESS wants of an all-reduce a list that only C++ can make.

Where no accelerator makes it, the same hook in Python takes its place."""

from __future__ import annotations

from typing import Any

from torch.distributed import BuiltinCommHookType
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel

from hemiola.errors import ArgumentError
from hemiola.torch.lookup import group_of

_DDP: Any = DistributedDataParallel
_register = _DDP._register_builtin_comm_hook


def _registered(model: Any, kind: Any) -> None:
    if kind == BuiltinCommHookType.FP16_COMPRESS and _runs_in_python(model.process_group):
        model.register_comm_hook(model.process_group, fp16_compress_hook)
    else:
        _register(model, kind)


def _runs_in_python(group: Any) -> bool:
    try:
        return group_of(group)._operations is None
    except ArgumentError:  # another backend's
        return False


_DDP._register_builtin_comm_hook = _registered
