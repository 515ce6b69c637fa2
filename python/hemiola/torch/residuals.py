# SPDX-License-Identifier: Apache-2.0
"""Unsent gradients of the communication hooks of DDP: by bucket while one works, by parameter for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from hemiola.errors import ArgumentError


class Residuals:
    """A residual for each bucket, whose parts follow their parameters when DDP puts these into other buckets, as it
    does after the first step."""

    def __init__(self) -> None:
        #: By bucket: its parameters in order, and its residual.
        self._buckets: dict[int, tuple[list[int], Any]] = {}
        #: By parameter: a part of its bucket's residual.
        self._parts: dict[Any, Any] = {}

    def of(self, bucket: Any) -> tuple[Any, bool]:
        """Return a bucket's residual, a flat tensor, and whether it was made anew, for other parameters than before."""
        parameters = bucket.parameters()
        identities = [id(one) for one in parameters]
        known = self._buckets.get(bucket.index())
        if known is not None and known[0] == identities:
            return known[1], False
        residual = torch.zeros_like(bucket.buffer())
        sizes = [one.numel() for one in parameters]
        for parameter, part in zip(parameters, residual.split(sizes), strict=True):
            if parameter in self._parts:
                part.copy_(self._parts[parameter].reshape(-1))
            self._parts[parameter] = part
        self._buckets[bucket.index()] = identities, residual
        return residual, True

    def by_name(self, model: Any) -> dict[str, Any]:
        """Return copies, by the name of a model's parameter and of its shape."""
        return {
            name: self._parts[parameter].detach().clone().view(parameter.shape)
            for name, parameter in model.named_parameters()
            if parameter in self._parts
        }

    def load(self, model: Any, residuals: Mapping[str, Any]) -> None:
        """Go on from the outcome of `by_name`; raise ArgumentError for an unknown parameter, and change nothing."""
        parameters = dict(model.named_parameters())
        for name, residual in residuals.items():
            if name not in parameters or parameters[name].shape != residual.shape:
                found = "none" if name not in parameters else f"shape {list(parameters[name].shape)}"
                raise ArgumentError(
                    f"state: expected a parameter '{name}' of shape {list(residual.shape)} in the model, found {found}"
                )
        self._buckets.clear()  # they are laid out again, from these
        self._parts = {parameters[name]: one.clone() for name, one in residuals.items()}


def restored_on_failure(residual: Any, before: Any, begin: Callable[[], Any]) -> Any:
    """Return the future of an operation that `begin` begins; where either fails, the residual is as before."""

    def over(future: Any) -> Any:
        try:
            return future.value()
        except BaseException:
            residual.copy_(before)
            raise

    try:
        return begin().then(over)
    except BaseException:
        residual.copy_(before)
        raise
