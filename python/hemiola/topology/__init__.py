"""What is behind `Topology.load` and its sisters: YAML, NCCL's XML, nvidia-smi, NetworkX."""
