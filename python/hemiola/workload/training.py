# SPDX-License-Identifier: Apache-2.0
"""A training as a question of a sweep: what `hemiola.whatif` takes beside the network and its conditions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.conditions import Conditions
from hemiola.sweep import StepRow
from hemiola.sweep.question import Names, Question
from hemiola.workload.libraries import HEMIOLA
from hemiola.workload.model import Model
from hemiola.workload.parallel import Parallel
from hemiola.workload.prediction import WhatIf
from hemiola.workload.question import check, whatif
from hemiola.workload.reading import model_or_step
from hemiola.workload.task import Step


@typed
@dataclass(frozen=True, repr=False)
class Training(Question):
    """A training, for `hemiola.sweep` in place of a collective. A trace is read once, when this is made.

    Parameters
    ----------
    trace_or_model, parallel, buckets, overlap_loss : as for `hemiola.whatif`.

    Raises
    ------
    ArgumentError
        A text names neither a model nor a file, or a model's parameter is out of its range.
    FormatError
        A trace is malformed; the message names file and place.
    OSError
        A trace cannot be read.
    """

    trace_or_model: Model | Step | str | os.PathLike[str]
    parallel: Parallel = Parallel()  # noqa: RUF009
    buckets: Mapping[int | str, float | str] = field(default_factory=dict, hash=False)
    overlap_loss: float = 0.0

    def __post_init__(self) -> None:
        self._subject  # noqa: B018  an error comes now, and not in the midst of a sweep

    @cached_property
    def _subject(self) -> Model | Step:
        given = self.trace_or_model
        return given if isinstance(given, Model | Step) else model_or_step(given)

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
        return whatif(
            self._subject,
            topology,
            conditions,
            parallel=self.parallel,
            buckets=self.buckets,
            overlap_loss=self.overlap_loss,
        )

    def _key(self) -> str:
        """Return a text that differs where the question does."""
        asked = self.parallel, sorted(self.buckets.items(), key=str), self.overlap_loss
        return repr((astuple(self._subject), *asked))

    def _check(self, topology: Topology, conditions: Conditions) -> None:
        """Raise ArgumentError where the ranks do not fit, before any step is predicted."""
        check(topology, conditions, self.overlap_loss)
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
