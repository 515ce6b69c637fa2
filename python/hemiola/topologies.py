"""Builders of common networks; each returns a `Topology`. Seconds and bytes per second in."""

from hemiola._core.topologies import fully_connected, grid, hosts, hypercube, mesh, ring, switch, torus

__all__ = ["fully_connected", "grid", "hosts", "hypercube", "mesh", "ring", "switch", "torus"]
