# SPDX-License-Identifier: Apache-2.0
"""A training: what `hemiola.whatif` takes beside the network and its conditions, checked here; a question of sweeps."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields
from functools import cached_property

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.sweep import StepRow
from hemiola.sweep.question import Names, Question
from hemiola.topology.named_nics import settled
from hemiola.workload.accounting import account, main_role
from hemiola.workload.assumptions import assumptions
from hemiola.workload.buckets import EIGHT_BITS, Form, sent_as
from hemiola.workload.call_costs import call_costs, limit_of
from hemiola.workload.cores import Cores, ranks_of_roles
from hemiola.workload.lateness import with_late_rank
from hemiola.workload.libraries import BOUND, HEMIOLA, LIBRARIES, OTHERS
from hemiola.workload.model import Model
from hemiola.workload.parallel import MOST_RANKS, Parallel
from hemiola.workload.prediction import WhatIf
from hemiola.workload.pricing import Prices
from hemiola.workload.programs import step_of
from hemiola.workload.reading import model_or_step
from hemiola.workload.running import run
from hemiola.workload.task import Step
from hemiola.workload.untraced import untraced


@typed
@dataclass(frozen=True, repr=False)
class Training(Question):
    """A training, for `hemiola.sweep` in place of a collective. A trace is read once, when this is made.

    Parameters
    ----------
    trace_or_model, parallel, buckets, overlap_loss, cores, untraced_s, software_s : as for `hemiola.whatif`.

    Raises
    ------
    ArgumentError
        A text names neither a model nor a file, a library is not known, or a number is out of its range.
    FormatError
        A trace is malformed; the message names file and place.
    OSError
        A trace cannot be read.
    """

    trace_or_model: Model | Step | str | os.PathLike[str]
    parallel: Parallel = Parallel()  # noqa: RUF009
    buckets: Mapping[int | str, float | str] = field(default_factory=dict, hash=False)
    overlap_loss: float = 0.0
    cores: int = 0
    untraced_s: float = 0.0
    software_s: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not 0 <= self.overlap_loss < 1:
            raise ArgumentError(f"whatif: expected an overlap_loss in [0, 1), found {self.overlap_loss}")
        if self.cores < 0:
            raise ArgumentError(f"whatif: expected cores from 0, found {self.cores}")
        _check_seconds("untraced_s", self.untraced_s)
        for library, seconds in self.software_s.items():
            if library not in (HEMIOLA, *OTHERS):
                raise ArgumentError(
                    f"whatif: expected software_s of libraries out of {', '.join((HEMIOLA, *OTHERS))}, found "
                    f"'{library}'"
                )
            _check_seconds(f"software_s of '{library}'", seconds)
        self._subject  # noqa: B018  an error comes now, and not in the midst of a sweep

    @cached_property
    def _subject(self) -> Model | Step:
        given = self.trace_or_model
        read = given if isinstance(given, Model | Step) else model_or_step(given)
        return untraced(read, self.untraced_s) if self.untraced_s else read

    @property
    def name(self) -> str:
        """The model or trace with its parallelism, as a table names it."""
        given = self.trace_or_model
        own = given.name if isinstance(given, Model | Step) else os.path.basename(given)
        return " ".join(filter(None, (own, self.parallel.in_words())))

    def __repr__(self) -> str:
        return f"<Training {self.name}>"

    @typed
    def on(self, topology: Topology, conditions: Conditions | None = None) -> WhatIf:
        """Predict a step.

        Parameters
        ----------
        topology, conditions : as for `hemiola.whatif`.

        Returns
        -------
        WhatIf

        Raises
        ------
        ArgumentError
            as `hemiola.whatif`.
        """
        told = conditions or Conditions()
        self._check(topology, told)
        network, now = settled(topology, told)
        split = self.parallel.on(topology.rank_count)
        step = sent_as(self._step(split, now), Form(now.density, split.quantized), self.buckets)
        prices = {
            library: Prices(network, split, now, library, self.software_s.get(library, 0.0))
            for library in LIBRARIES
        }
        shared = Cores(self.cores, ranks_of_roles(step.roles, topology.rank_count)) if self.cores else None
        ran = {
            library: run(step, price, overlap_loss=self.overlap_loss, cores=shared)
            for library, price in prices.items()
        }
        own = ran[HEMIOLA]
        role = main_role(own)
        spent = account(own, role)
        calls = call_costs(own, role, spent, prices[HEMIOLA], prices[BOUND])
        is_quantized = split.quantized or EIGHT_BITS in self.buckets.values()
        return WhatIf(
            step.name,
            topology.name,
            topology.rank_count,
            split,
            told,
            own.seconds,
            spent.compute_s,
            spent.hidden_s,
            spent.exposed_s,
            spent.waiting_s,
            role,
            calls,
            {name: ran[name].seconds for name in OTHERS},
            ran[BOUND].seconds,
            limit_of(own, spent, calls, now, prices[BOUND]),
            assumptions(step, now, self.cores, self.software_s, is_quantized=is_quantized),
            own,
        )

    def _step(self, split: Parallel, now: Conditions) -> Step:
        """Return the step of a model or a trace; of late ranks of one stage the latest counts."""
        asked = self._subject
        if isinstance(asked, Step):
            if asked.tensor_ranks and split.tp != asked.tensor_ranks:
                raise ArgumentError(
                    f"whatif: '{asked.name}' has groups of {asked.tensor_ranks} neighbours; expected parallel "
                    f"tp={asked.tensor_ranks}, found tp={split.tp}"
                )
            late_s = max(now.late.values(), default=0.0)
            return with_late_rank(asked, late_s) if late_s > 0 else asked
        late: dict[int, float] = {}
        for rank, seconds in now.late.items():
            stage = rank // (split.dp * split.tp)
            late[stage] = max(late.get(stage, 0.0), seconds)
        return step_of(asked, split, late={stage: at_s for stage, at_s in late.items() if at_s > 0})

    def _key(self) -> str:
        """Return a text that differs where the question does."""
        options = (getattr(self, one.name) for one in fields(self) if one.name != "trace_or_model")
        asked = (sorted(one.items(), key=str) if isinstance(one, Mapping) else one for one in options)
        return repr((astuple(self._subject), *asked))

    def _check(self, topology: Topology, conditions: Conditions) -> None:
        """Raise ArgumentError where the ranks do not fit, before any step is predicted."""
        if topology.rank_count > MOST_RANKS:
            raise ArgumentError(
                f"whatif: expected a topology of at most {MOST_RANKS:,} ranks, found {topology.rank_count:,}"
            )
        for noun, ranks in (("late", conditions.late), ("slow", conditions.slow_ranks)):
            for rank in ranks:
                if not 0 <= rank < topology.rank_count:
                    raise ArgumentError(
                        f"whatif: expected {noun} ranks from 0 to {topology.rank_count - 1:,}, found rank {rank}"
                    )
        self.parallel.on(topology.rank_count)

    def _rows(self, topology: Topology, conditions: Conditions, names: Names) -> list[StepRow]:
        """Return a row for each library, Hemiola's first."""
        found = self.on(topology, conditions)
        sent = sum(call.nbytes * call.count for call in found.calls)
        own = StepRow(
            names.topology, names.question, sent, HEMIOLA, names.conditions, found.seconds, found.bound_s, found.limit,
            compute_s=found.compute_s, hidden_s=found.hidden_s, exposed_s=found.exposed_s, waiting_s=found.waiting_s,
        )  # fmt: skip
        return [
            own,
            *(
                StepRow(
                    names.topology, names.question, sent, library, names.conditions, seconds, found.bound_s
                )
                for library, seconds in found.others.items()
            ),
        ]


def _check_seconds(name: str, seconds: float) -> None:
    if not (seconds >= 0 and math.isfinite(seconds)):
        raise ArgumentError(f"whatif: expected {name} of 0 seconds or more, found {seconds}")
