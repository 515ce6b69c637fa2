# SPDX-License-Identifier: Apache-2.0
"""Pruning with error feedback, in NumPy: a threshold by a sample, and a residual that takes the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.pruning.residual import unlike

D = TypeVar("D", bound=np.generic)

_DTYPES = ("float16", "bfloat16", "float32", "float64")


@typed
class Pruner:
    """Keep of each gradient the elements of largest magnitude, and add the others to the next one.

    A rank prunes its own gradient with a pruner of its own, then `comm.all_reduce(x, op="average", sparse=True)` takes
    the result. The sent values are copies of the accumulated ones. So of every element exactly one of sent value and
    residual has all its bits, and the other is zero. Clip gradients before they come here, because later clipping loses
    the residual.

    Parameters
    ----------
    density : float in (0, 1], the share of elements to keep of each layer, at least one.
    layers : sequence of int >= 0, elements of each layer of the flat gradient, in order: each has a threshold of its
        own. None takes the gradient as one layer: give a bucket with layers of unlike scales their sizes.
    leak : float in [0, 1], the share of the residual that the next call adds. 1 loses nothing; 0 is no feedback, and
        everything between forgets gradients that were not sent.
    error : float > 0, the standard deviation of the kept share, relative to `density`, that sampling may cause. A
        layer of at most (1-d)/(d·error²) elements, d the density, is looked at whole and keeps exactly its share.
    warm_up_steps : int >= 0, calls over which the density falls to `density`, by the same factor each; 0 for none.
    seed : int >= 0, of the samples.

    Attributes
    ----------
    residual : ndarray of the last gradient's shape and dtype, its unsent rest; None before the first. Written in
        place by `prune`; a checkpoint keeps a copy and a restart sets it.
    step : int, calls of `prune` so far.
    kept : int, elements that the last call kept.

    Raises
    ------
    ArgumentError
        An argument is out of its range.

    Notes
    -----
    Of equal magnitudes at the threshold as many are kept as are missing, evenly spread; zeros never are. Infinities and
    NaNs are always sent and never kept in the residual: every rank sees them as it would have dense, and the next
    step is clean. Memory: the residual and two arrays of the largest layer while it runs. Cost: some eight passes over
    the gradient, in one thread, and a sample. Deterministic. Sampled thresholds, feedback and warm-up are those of
    [DGC, §3];
    the size of the sample is ours. Of m elements drawn at random the kept share deviates by √((1-d)/(d·m)). So DGC's
    0.1 % or SpCCL's of a small layer promise nothing.

    Examples
    --------
    >>> import numpy as np, hemiola as hm
    >>> pruner = hm.Pruner(density=0.25)
    >>> pruner.prune(np.array([1.0, -4.0, 2.0, 3.0]))
    array([ 0., -4.,  0.,  0.])
    >>> pruner.prune(np.array([0.5, 0.5, 0.5, 0.5]))
    array([0. , 0. , 0. , 3.5])
    """

    def __init__(
        self,
        density: float,
        *,
        layers: Sequence[int] | None = None,
        leak: float = 1.0,
        error: float = 0.05,
        warm_up_steps: int = 0,
        seed: int = 0,
    ) -> None:
        if not 0 < density <= 1:
            raise ArgumentError(f"density: expected a share in (0, 1], found {density}")
        if not 0 <= leak <= 1:
            raise ArgumentError(f"leak: expected a share in [0, 1], found {leak}")
        if not 0 < error < math.inf:
            raise ArgumentError(f"error: expected a finite number above 0, found {error}")
        for name, count in (("warm_up_steps", warm_up_steps), ("seed", seed)):
            if count < 0:
                raise ArgumentError(f"{name}: expected at least 0, found {count}")
        if layers is not None and any(size < 0 for size in layers):
            raise ArgumentError(f"layers: expected sizes of at least 0, found {min(layers)}")
        self._density, self._leak, self._error, self._warm_up = density, leak, error, warm_up_steps
        self._layers = None if layers is None else [int(size) for size in layers]
        self._random = np.random.default_rng(seed)
        self.residual: NDArray[Any] | None = None
        self.step = 0
        self.kept = 0

    @typed
    def density_at(self, step: int) -> float:
        """Return the share that a step keeps: density^((step+1)/(warm_up_steps+1)) while warming up, then `density`.

        Parameters
        ----------
        step : int >= 0.

        Returns
        -------
        float

        Raises
        ------
        ArgumentError
            The step is negative.
        """
        if step < 0:
            raise ArgumentError(f"step: expected at least 0, found {step}")
        return float(self._density ** min(1.0, (step + 1) / (self._warm_up + 1)))

    @typed
    def prune(self, x: NDArray[D], *, out: NDArray[D] | None = None) -> NDArray[D]:
        """Add the residual to a gradient, return its largest elements between zeros, and keep the rest.

        Parameters
        ----------
        x : ndarray of float16, bfloat16, float32 or float64, of the shape and dtype of all calls before.
        out : writable ndarray of the same shape and dtype in C order, for the result; `x` itself prunes in place. None
            makes one.

        Returns
        -------
        ndarray, `out`: dense, with zeros where nothing is sent.

        Raises
        ------
        ArgumentError
            The dtype is none of these, shape or dtype are not those of the residual or of `out`, `layers` do not add up
            to the size, or `out` is read-only or has gaps. Nothing has changed then.

        Examples
        --------
        >>> import numpy as np, hemiola as hm
        >>> x = np.array([3.0, 1.0, 1.0, 2.0], np.float32)
        >>> hm.Pruner(density=0.5, leak=0).prune(x, out=x)
        array([3., 0., 0., 2.], dtype=float32)
        """
        out = self._checked(x, out)
        accumulated = self._accumulated(x)
        flat, sent = accumulated.reshape(-1), out.reshape(-1)
        density = self.density_at(self.step)
        self.kept = begin = 0
        for size in self._layers or [flat.size]:
            self.kept += self._split(flat[begin : begin + size], sent[begin : begin + size], density)
            begin += size
        self.step += 1
        return out

    def _checked(self, x: NDArray[D], out: NDArray[D] | None) -> NDArray[D]:
        """Return where the result goes, or refuse the call."""
        if x.dtype.name not in _DTYPES:
            raise ArgumentError(f"x: expected one of {', '.join(_DTYPES)}, found {x.dtype}")
        if self._layers is not None and sum(self._layers) != x.size:
            raise ArgumentError(
                f"x: expected {sum(self._layers)} elements, the sum of `layers`, found {x.size} of shape {x.shape}"
            )
        if (wrong := unlike(x, self.residual, out)) is not None:
            raise ArgumentError(wrong)
        if out is None:
            return np.empty_like(x, order="C")
        if not (out.flags.writeable and out.flags.c_contiguous):
            raise ArgumentError("out: expected a writable array in C order, found one read-only or with gaps")
        return out

    def _accumulated(self, x: NDArray[Any]) -> NDArray[Any]:
        """Add the gradient to what was left over, where that lies."""
        if self.residual is None:
            self.residual = x.copy(order="C")
        else:
            self.residual = np.require(self.residual, requirements=["C", "W"])  # somebody may have set it
            if self._leak != 1:
                self.residual *= self.residual.dtype.type(self._leak)
            self.residual += x
        return self.residual

    def _split(self, accumulated: NDArray[Any], sent: NDArray[Any], density: float) -> int:
        """Move the largest elements of a layer from `accumulated` to `sent`; return how many."""
        wanted = min(accumulated.size, max(1, round(density * accumulated.size)))
        chosen = self._largest(np.abs(accumulated), wanted, density)
        values = accumulated[chosen]
        accumulated[chosen] = 0
        sent[:] = 0
        sent[chosen] = values
        return chosen.size

    def _largest(self, magnitudes: NDArray[Any], wanted: int, density: float) -> NDArray[np.intp]:
        """Return places of about `wanted` elements, exactly where all were looked at, and of what is not finite."""
        if wanted == magnitudes.size:
            return np.flatnonzero(magnitudes)
        threshold = self._threshold(magnitudes, wanted, density)
        chosen = np.flatnonzero(~(magnitudes <= threshold))  # NaN, too
        missing = wanted - chosen.size
        if missing > 0 and threshold > 0:
            ties = np.flatnonzero(magnitudes == threshold)
            chosen = np.concatenate([chosen, ties[_evenly(min(missing, ties.size), ties.size)]])
        return chosen

    def _threshold(self, magnitudes: NDArray[Any], wanted: int, density: float) -> Any:
        """Return the `wanted`-th largest magnitude, by a sample where that is large enough for the error promised."""
        enough = math.ceil((1 - density) / (density * self._error**2))
        seen, rank = magnitudes, wanted
        if 0 < enough < magnitudes.size:
            seen = magnitudes[self._random.integers(magnitudes.size, size=enough)]
            rank = max(1, round(density * enough))
        # Sorted as float32 where 16 bits are no dtype of NumPy's own.
        wide = seen.astype(np.float32) if seen.dtype.itemsize == 2 else seen
        found = np.partition(wide, seen.size - rank)[seen.size - rank]
        largest = wide.dtype.type(ml_dtypes.finfo(seen.dtype).max)  # NaN is sorted last, and is no threshold
        return np.fmin(found, largest).astype(seen.dtype)


def _evenly(count: int, among: int) -> NDArray[np.int64]:
    """Return `count` different indices below `among` at equal distances."""
    return np.arange(count, dtype=np.int64) * among // max(1, count)
