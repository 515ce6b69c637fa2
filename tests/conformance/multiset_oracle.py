# SPDX-License-Identifier: Apache-2.0
"""A second judge, from first principles and slow: slots are multisets of contributions in dictionaries. It
shares no code and no idea with hemiola's, and names the rules that a schedule breaks."""

from collections import Counter, defaultdict

from small_patterns import Row

import hemiola as hm

#: Rank and chunk; of scratch slot k also k.
Slot = tuple[int, ...]


def defined_before(c: hm.Collective) -> set[Slot]:
    """Return the (rank, chunk) slots that hold something before the first step."""
    every = {(r, k) for r in range(c.rank_count) for k in range(c.chunk_count)}
    if c.kind == "custom":
        return set(c.before)
    if c.is_reducing:
        return every
    if c.kind in ("broadcast", "scatter"):
        return {(r, k) for r, k in every if r == c.root}
    return {(r, k) for r, k in every if r == c.owner[k]}


def wanted_after(c: hm.Collective) -> set[Slot]:
    """Return the slots that must hold the result after the last step."""
    every = {(r, k) for r in range(c.rank_count) for k in range(c.chunk_count)}
    pieces = c.chunk_count // c.rank_count**2
    holds = {
        "custom": lambda r, k: (r, k) in set(c.after),
        "all_gather": lambda r, k: True,
        "all_reduce": lambda r, k: True,
        "broadcast": lambda r, k: True,
        "reduce_scatter": lambda r, k: r == c.owner[k],
        "scatter": lambda r, k: r == c.owner[k],
        "reduce": lambda r, k: r == c.root,
        "gather": lambda r, k: r == c.root,
        "all_to_all": lambda r, k: r == (k // pieces) % c.rank_count,
    }[c.kind]
    return {slot for slot in every if holds(*slot)}


def _slot(rank: int, chunk: int, scratch: int) -> Slot:
    return (rank, chunk, scratch) if scratch else (rank, chunk)


def read_by(row: Row) -> Slot:
    """Return the slot that a transfer reads."""
    return _slot(row[1], row[3], row[5] if len(row) > 5 else 0)


def written_by(row: Row) -> Slot:
    """Return the slot that a transfer writes."""
    return _slot(row[2], row[3], row[6] if len(row) > 6 else 0)


class Oracle:
    """Runs a schedule on multisets and collects the names of the rules it breaks."""

    def __init__(self, collective: hm.Collective, rows: list[Row]) -> None:
        self.collective = collective
        # In the order in which reduces are applied: (step, src, the slot that is read).
        self.rows = sorted(rows, key=lambda row: (*row[:3], row[5:], *row[3:5]))
        self.rules: set[str] = set()
        self.slots: dict[Slot, Counter[int]] = {}
        for rank, chunk in defined_before(collective):
            self.slots[rank, chunk] = Counter([rank if collective.is_reducing else -1])
        self.unused: dict[Slot, bool] = {}

    def broken_rules(self) -> set[str]:
        """Run all steps, then look at what is left."""
        for step in sorted({row[0] for row in self.rows}):
            self._run([row for row in self.rows if row[0] == step])
        for slot in self.unused:
            self._drop(slot)
        self._check_results()
        return self.rules

    def _run(self, rows: list[Row]) -> None:
        for row in rows:
            self.unused.pop(read_by(row), None)
            if read_by(row) not in self.slots:
                self.rules.add("read_before_defined")
        values = [Counter(self.slots.get(read_by(row), ())) for row in rows]
        writers: dict[Slot, list[bool]] = defaultdict(list)
        for row, value in zip(rows, values, strict=True):
            writers[written_by(row)].append(row[4])
            self._write(written_by(row), value, row[4])
        for kinds in writers.values():
            if kinds.count(False) > 1:
                self.rules.add("copy_conflict")
            if True in kinds and False in kinds:
                self.rules.add("copy_reduce_conflict")

    def _write(self, slot: Slot, value: Counter[int], reduce: bool) -> None:
        if reduce and not self.collective.is_reducing:
            self.rules.add("reduce_not_allowed")
            reduce = False
        if reduce:
            if slot not in self.slots:
                self.rules.add("reduce_into_undefined")
            value = value + self.slots.get(slot, Counter())
        else:
            self._drop(slot)
        if value:
            self.slots[slot] = value
        else:
            self.slots.pop(slot, None)
        self.unused[slot] = True

    def _drop(self, slot: Slot) -> None:
        if slot in self.unused and slot not in wanted_after(self.collective):
            self.rules.add("leftover")

    def _check_results(self) -> None:
        before = defined_before(self.collective)
        for rank, chunk in wanted_after(self.collective):
            value = self.slots.get((rank, chunk))
            if value is None:
                self.rules.add("missing_chunk")
                continue
            whole = {r for r, c in before if c == chunk} if self.collective.is_reducing else {-1}
            if any(value[r] == 0 for r in whole):
                self.rules.add("missing_contribution")
            if any(value[r] > 1 for r in whole):
                self.rules.add("counted_twice")


def broken_rules(collective: hm.Collective, rows: list[Row]) -> set[str]:
    """Return the names of the rules that a schedule breaks; empty when it is correct."""
    return Oracle(collective, rows).broken_rules()
