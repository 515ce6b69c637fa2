"""Schedules for any topology: by matching chunks to links, by packing spanning trees, and by integer programs.

`synthesize` is the one to start with and docs/decisions/0005-synthesis.md tells how it works; `forest` packs spanning
trees where bandwidth is all that counts, `late_forest` those around a rank that is late; `late_matched` does without
packing on large networks, and `late_hosts` and `late_rails` are for one on hosts. Integer programs after
published ones, to compare with, are in `optimal`."""

from hemiola.synthesis.late_forest import late_forest
from hemiola.synthesis.late_hosts import late_hosts
from hemiola.synthesis.late_matched import late_matched
from hemiola.synthesis.late_rails import late_rails
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
