# SPDX-License-Identifier: Apache-2.0
"""Schedules for any topology: by matching chunks to links, by packing spanning trees, and by integer programs.

Start with `synthesize`, which docs/decisions/0005-synthesis.md explains. `forest` packs spanning trees where bandwidth
alone counts, `late_forest` those around a late rank. `late_matched` does without packing on large networks, and
`late_hosts` and `late_rails` are for a late rank on hosts. Integer programs after published ones, to compare with, are
in `optimal`."""

from hemiola.synthesis.around import late_forest, late_matched, late_rails
from hemiola.synthesis.late_hosts import late_hosts
from hemiola.synthesis.matching import StreamedSynthesis, search, synthesize, synthesize_to_file
from hemiola.synthesis.result import DEFAULT_NBYTES, Synthesis
from hemiola.synthesis.spanning_trees import forest

__all__ = [
    "DEFAULT_NBYTES",
    "StreamedSynthesis",
    "Synthesis",
    "forest",
    "late_forest",
    "late_hosts",
    "late_matched",
    "late_rails",
    "search",
    "synthesize",
    "synthesize_to_file",
]
