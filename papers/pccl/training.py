# SPDX-License-Identifier: Apache-2.0
"""Figure 2 by formula: the bytes that sharded training gathers and scatters; and Table 1's models."""

from __future__ import annotations

from dataclasses import dataclass

from papers.pccl.machine import MIB
from papers.report import Report

#: bfloat16.
_BYTES = 2
#: DeepSpeed's default `stage3_prefetch_bucket_size`: parameters that it gathers at once, ahead of their use.
_PREFETCHED = 50_000_000
#: DeepSpeed's default `reduce_bucket_size`: gradients that it scatters at once.
_REDUCED = 500_000_000
#: Of GPT-2's and OPT's tokenizer.
_VOCABULARY = 50_272


@dataclass(frozen=True)
class Transformer:
    """A GPT-style model: `layers` blocks of 12h² weights and 13h biases and norms, h the hidden size."""

    name: str
    layers: int
    hidden: int

    @property
    def block(self) -> int:
        """Parameters of one block: attention 4h², the two layers after it 8h², and their biases and norms."""
        return 12 * self.hidden**2 + 13 * self.hidden

    @property
    def largest_matrix(self) -> int:
        """Weights of the largest matrix of a block, h times 4h."""
        return 4 * self.hidden**2

    @property
    def parameters(self) -> int:
        """All blocks, and the embedding of the vocabulary."""
        return self.layers * self.block + _VOCABULARY * self.hidden


#: Table 1 of Zhang et al. 2022 (OPT), from which the paper takes its models, too.
MODELS = (
    Transformer("OPT 1.3B", 24, 2048),
    Transformer("OPT 6.7B (Table 1's 7B)", 32, 4096),
    Transformer("OPT 13B (Table 1's 13B)", 40, 5120),
    Transformer("OPT 30B", 48, 7168),
    Transformer("OPT 66B", 64, 9216),
    Transformer("OPT 175B", 96, 12288),
)


def fsdp(model: Transformer) -> tuple[int, int]:
    """Return bytes gathered and scattered at once by FSDP with a unit per block: all of the block."""
    return model.block * _BYTES, model.block * _BYTES


def zero_3(model: Transformer) -> tuple[int, int]:
    """Return the same of ZeRO-3 with DeepSpeed's defaults.

    At least a block's largest matrix and at most its prefetch bucket is gathered at once; gradients wait for a full
    bucket, or for the end of the backward pass.
    """
    gathered = max(model.largest_matrix, min(_PREFETCHED, model.block))
    return gathered * _BYTES, min(_REDUCED, model.parameters) * _BYTES


def axonn(model: Transformer, tensor_ranks: int) -> tuple[int, int]:
    """Return the same of AxoNN, which gathers one matrix at a time, cut among G_x·G_y ranks (arXiv:2305.13525)."""
    return (model.largest_matrix * _BYTES // tensor_ranks,) * 2


def figure_2(report: Report, command: str) -> None:
    """One table."""
    report.section(
        "Figure 2 and Table 1: what training gathers and scatters",
        "By formula, in bfloat16: MiB of the whole buffer, the output of an all-gather and the input of a "
        "reduce-scatter, as [PCCL, §§3.1, 5.1] count them. The plot's axis says the opposite (input of an all-gather, "
        "output of a reduce-scatter), which is p times less: of 1,024 ranks a block of 384 MiB would be 0.4 MiB, "
        'not "tens to hundreds of megabytes". FSDP: a unit per block, 12h² + 13h parameters. ZeRO-3: '
        "DeepSpeed's defaults, 5·10⁷ parameters prefetched and 5·10⁸ gradients a bucket. AxoNN: a block's "
        "largest matrix, 4h², among G_x·G_y = 1 or 8 ranks (arXiv:2305.13525). The paper says neither its "
        "settings nor which message of a model it plots.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for model in MODELS:
        found = (fsdp(model)[:1], zero_3(model), axonn(model, 1)[:1], axonn(model, 8)[:1])
        cells = [nbytes / MIB for sizes in found for nbytes in sizes]
        rows.append((model.name, model.layers, model.hidden, model.parameters / 1e9, *cells))
    columns = ("FSDP, both", "ZeRO-3, gathered", "ZeRO-3, scattered", "AxoNN, whole", "AxoNN, of 8")
    report.table("figure_2", ("model", "layers", "hidden", "10⁹ parameters", *columns), rows)
    report.text("**Figure 12**, batches of ZeRO-3 with these models, is in [workloads.md](workloads.md).")
