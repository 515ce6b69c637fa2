"""What [SpCCL, §4.3] sends sparse and what dense, by its thresholds and its equation 7: for comparison with what is
measured here (see `coded`)."""

from __future__ import annotations

#: Sparsities at or below which a hop of sums goes dense, between nodes and inside one, and an all-gather: what its
#: authors have swept for float32 and Pici.
INTER, INTRA, GATHER = 0.5, 0.6, 0.1


def filled(previous: float, own: float) -> float:
    """Return the density of a sum by equation 7, when one more rank's elements are added to it."""
    return 1 - (1 - previous) * (1 - own)


def sparse_hops(rank_count: int, density: float, threshold: float) -> int:
    """Return how many hops of a ring's reduce-scatter are sparse: the first, and those before which more of the sum was
    zero than the threshold."""
    hops, known = 1, density
    while hops < rank_count - 1 and 1 - known > threshold:
        hops, known = hops + 1, filled(known, density)
    return min(hops, rank_count - 1)


def explain_spccl(kind: str, rank_count: int, density: float) -> list[str]:
    """Say of each phase of a ring whether SpCCL sends it sparse, and why.

    Parameters
    ----------
    kind : str, the collective.
    rank_count : int >= 1.
    density : float in (0, 1], share of elements that are not zero, on every rank by itself.

    Returns
    -------
    list of str, sentences.
    """
    told = []
    if kind in ("reduce_scatter", "all_reduce") and rank_count > 1:
        between, inside = (_hops(rank_count, density, threshold) for threshold in (INTER, INTRA))
        told.append(f"SpCCL's reduce-scatter, a ring: between nodes {between}, inside a node {inside}.")
    if kind in ("all_gather", "all_reduce"):
        known = density
        for _ in range(rank_count - 1 if kind == "all_reduce" else 0):
            known = filled(known, density)
        is_sparse = 1 - known > GATHER
        told.append(
            f"SpCCL's all-gather: {'sparse' if is_sparse else 'dense'}, for {1 - known:.3g} are zero, "
            f"{'more than' if is_sparse else 'at most'} {GATHER:g}."
        )
    return told or [f"SpCCL has no sparse {kind.replace('_', '-')}."]


def _hops(rank_count: int, density: float, threshold: float) -> str:
    count, hops = sparse_hops(rank_count, density, threshold), rank_count - 1
    if count == hops:
        return "sparse to the last hop"
    known = density
    for _ in range(count - 1):
        known = filled(known, density)
    zeros = f"by equation 7 {1 - known:.3g} are zero, at most {threshold:g}"
    return f"{count} of {hops} hops sparse, then dense, for {zeros}"
