# SPDX-License-Identifier: Apache-2.0
"""Training with parameters, gradients and optimizer state in shards (FSDP2) over Hemiola: the model of ddp.py, of which
each rank holds a part.

    torchrun --nproc-per-node 2 examples/fsdp2.py         # or: ... examples/fsdp2.py gloo

Each layer's parameters are gathered before it runs and its gradients reduced and scattered after: `all_gather` and
`reduce_scatter` of this backend. In the end the shards are gathered for a checkpoint of the whole model."""

import sys
import time
from pydoc_data.topics import topics

import torch
import torch.distributed as dist
from ddp import BATCH, CONTEXT, model
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

STEPS = 40


def main() -> None:
    """Train, and print the loss, the time of a step, and what a rank holds."""
    backend = sys.argv[1] if len(sys.argv) > 1 else "hemiola"
    dist.init_process_group(backend)
    rank, n = dist.get_rank(), dist.get_world_size()
    text = torch.frombuffer(bytearray("".join(topics.values()).encode()), dtype=torch.uint8).long()
    draw = torch.Generator().manual_seed(rank)
    net = model()
    whole = sum(parameter.numel() for parameter in net.parameters())
    for layer in net:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(net)
    held = sum(parameter.to_local().numel() for parameter in net.parameters())
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    began, mean = time.perf_counter(), torch.zeros(())
    for step in range(STEPS):
        begin = torch.randint(len(text) - CONTEXT - 1, (BATCH, 1), generator=draw)
        window = text[begin + torch.arange(CONTEXT + 1)]
        loss = nn.functional.cross_entropy(net(window[:, :-1]), window[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += loss.detach() / 20 / n
        if (step + 1) % 20 == 0:
            dist.all_reduce(mean)
            if rank == 0:
                print(f"steps {step - 18} to {step + 1}: loss {mean.item():.4f}", flush=True)
            mean.zero_()
    step_ms = (time.perf_counter() - began) / STEPS * 1e3
    checkpoint = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        gathered = sum(tensor.numel() for tensor in checkpoint.values())
        print(f"{backend}: {step_ms:.1f} ms a step; a rank holds {held} of {whole} parameters")
        print(f"the checkpoint has {gathered}")
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
