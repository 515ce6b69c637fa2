# SPDX-License-Identifier: Apache-2.0
"""The parts of `Topology.load` and its sisters: YAML, NCCL's XML, nvidia-smi, NetworkX."""
