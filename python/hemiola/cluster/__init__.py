# SPDX-License-Identifier: Apache-2.0
"""A cluster on one machine: hosts as namespaces with NICs of a limited rate, owned by one process that ends all."""

from hemiola.cluster.cluster import Cluster, Host

__all__ = ["Cluster", "Host"]
