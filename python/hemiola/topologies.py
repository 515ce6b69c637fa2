# SPDX-License-Identifier: Apache-2.0
"""Builders of common networks; each returns a `Topology`. Seconds and bytes per second in."""

from hemiola._core.topologies import (
    Host,
    boxes,
    cluster,
    dgx1,
    dgx_a100,
    dgx_h100,
    dragonfly,
    fully_connected,
    grid,
    hosts,
    hypercube,
    mesh,
    rfs_3d,
    ring,
    switch,
    switch_2d,
    torus,
)

__all__ = [
    "Host",
    "boxes",
    "cluster",
    "dgx1",
    "dgx_a100",
    "dgx_h100",
    "dragonfly",
    "fully_connected",
    "grid",
    "hosts",
    "hypercube",
    "mesh",
    "rfs_3d",
    "ring",
    "switch",
    "switch_2d",
    "torus",
]
