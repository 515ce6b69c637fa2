# SPDX-License-Identifier: Apache-2.0
"""Errors as scripts for PyTorch expect them: each error of a group's operation is a RuntimeError there."""

from __future__ import annotations

from torch.distributed import DistBackendError

from hemiola.errors import ArgumentError, HemiolaError, TimeoutError


class GroupTimeoutError(TimeoutError, DistBackendError):
    """A rank did not come in time: both hemiola.TimeoutError and PyTorch's own error for it."""


class GroupArgumentError(ArgumentError, RuntimeError):
    """An argument is outside its legal range: both hemiola.ArgumentError and PyTorch's own error for it."""


def for_torch(error: HemiolaError) -> HemiolaError:
    """Return an error that is also one of those that PyTorch's backends raise."""
    if isinstance(error, TimeoutError) and not isinstance(error, GroupTimeoutError):
        late = GroupTimeoutError(f"hemiola: Timed out waiting: {error}").with_traceback(error.__traceback__)
        late.cause = error.cause
        return late
    if isinstance(error, ArgumentError) and not isinstance(error, RuntimeError):
        return GroupArgumentError(str(error)).with_traceback(error.__traceback__)
    return error
