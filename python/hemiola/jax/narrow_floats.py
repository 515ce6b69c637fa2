# SPDX-License-Identifier: Apache-2.0
"""float16 and floats of 8 bits, which XLA's collectives on MPI refuse: carried as float32, rounded once at the end.

Integers of 2 bits are refused here: XLA refuses them in some collectives, and ends the process in others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax._src.interpreters import mlir
from jax._src.lax import parallel

from hemiola.errors import ArgumentTypeError

_REDUCING = (
    "psum_p",
    "psum_invariant_p",
    "pmax_p",
    "pmin_p",
    "all_gather_p",
    "all_gather_invariant_p",
    "reduce_scatter_p",
)
_MOVING = ("ppermute_p", "all_to_all_p")


def carry_narrow_floats() -> None:
    """Widen narrow floats around each collective that the installed JAX has; refuse types that none can carry."""
    for name in (*_REDUCING, *_MOVING):
        primitive = getattr(parallel, name, None)
        if primitive is not None:
            known = mlir._platform_specific_lowerings["cpu"].get(primitive) or mlir._lowerings[primitive]
            rule = _widened(known.rule) if name in _REDUCING else known.rule
            mlir.register_lowering(primitive, _checked(rule, primitive.name), platform="cpu")


def _checked(rule: Callable[..., Any], call: str) -> Callable[..., Any]:
    def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
        for aval in context.avals_in:
            if jnp.issubdtype(aval.dtype, jnp.integer) and jnp.iinfo(aval.dtype).bits < 4:
                raise ArgumentTypeError(
                    f"{call}: expected elements of at least 4 bits, found {aval.dtype}, which XLA's collectives cannot "
                    f"carry. Convert them first, as by x.astype('int8')"
                )
        return rule(context, *operands, **parameters)

    return lower


def _widened(rule: Callable[..., Any]) -> Callable[..., Any]:
    def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
        if not any(map(_is_narrow, context.avals_in)):
            return rule(context, *operands, **parameters)
        wide = context.replace(avals_in=_wide(context.avals_in), avals_out=_wide(context.avals_out))
        widened = map(_convert, [context] * len(operands), operands, context.avals_in, wide.avals_in)
        results = rule(wide, *widened, **parameters)
        return list(map(_convert, [context] * len(results), results, wide.avals_out, context.avals_out))

    return lower


def _convert(context: Any, value: Any, of: Any, to: Any) -> Any:
    return value if of.dtype == to.dtype else mlir.convert_hlo(context, value, of, to)


def _wide(avals: Sequence[Any]) -> list[Any]:
    return [aval.update(dtype=jnp.dtype("float32")) if _is_narrow(aval) else aval for aval in avals]


def _is_narrow(aval: Any) -> bool:
    """Say whether XLA would refuse it; it converts bfloat16 itself."""
    is_float = bool(jnp.issubdtype(aval.dtype, jnp.floating))
    return is_float and aval.dtype.itemsize <= 2 and bool(aval.dtype != jnp.bfloat16)
