# SPDX-License-Identifier: Apache-2.0
"""Files of other programs that describe machines, but are not read: their kinds, for the refusal."""

from __future__ import annotations

import re

READ_FORMATS = (
    "read are Hemiola's YAML, NCCL's and RCCL's topology XML (NCCL_TOPO_DUMP_FILE), NCCL's log with "
    "NCCL_DEBUG_SUBSYS=GRAPH, and what 'nvidia-smi topo -m', 'rocm-smi --showtopo' and 'amd-smi topology' print"
)

#: Characters; such a file names its kind early.
_LOOKED_AT = 1 << 16
#: The mark of each kind; the first that fits counts.
_KINDS = (
    (
        "what lstopo writes",
        r"<!DOCTYPE topology|<topology[ >]|\A\s*Machine \(\d|^\s*Package L#\d|^\s*NUMANode L#\d",
    ),
    ("a network of ASTRA-sim", r"""["']?(npus_count|topology-name|dimensions-count)["']?\s*:"""),
    (
        "a topology of TE-CCL",
        r"""["'](TopologyParams|GurobiParams|InstanceParams|chassis|alpha_threshold)["']\s*:""",
    ),
    (
        "a topology of TACCL",
        r"""["'](node_profile|gpus_per_node|nics_per_node|intranode_sketch|remote_alpha|node_betas_list|alpha_beta)["']\s*:""",
    ),
)


def kind_of(text: str) -> str | None:
    """Say which program's file this is; None where it is of none that is known."""
    begin = text[:_LOOKED_AT]
    return next((kind for kind, sign in _KINDS if re.search(sign, begin, re.MULTILINE)), None)
