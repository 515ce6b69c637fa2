# SPDX-License-Identifier: Apache-2.0
"""One rank of one contender of benchmarks/inference.py: takes orders on its standard input, and answers on its standard
output with a line of JSON each. It sleeps between orders, so that contenders do not disturb each other."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any, TextIO

import torch
import torch.distributed as dist

from ordered_ranks import answers_output

#: What each contender is to torch.distributed; deepspeed's operation goes past it.
BACKENDS = {"gloo": "gloo", "hemiola": "hemiola", "compiled": "hemiola", "deepspeed": "gloo"}
LIMIT = timedelta(seconds=300)
PROMPT = 16

Order = dict[str, Any]
Reduce = Callable[[torch.Tensor], Any]


def contribution(rank: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Return small integers by rank and place, whose sums are exact in every type that is measured."""
    return ((torch.arange(count) * 7 + rank * 3) % 11).to(dtype)


def token(reduce: Reduce, states: torch.Tensor, values: torch.Tensor, calls: int) -> float:
    """Return the seconds that a token's all-reduces take, each of states that have just been written."""
    dist.barrier()
    began = time.perf_counter()
    for _ in range(calls):
        states.copy_(values)
        reduce(states)
    return time.perf_counter() - began


def measured_calls(reduce: Reduce, order: Order) -> dict[str, Any]:
    """Return the median seconds of a token on this rank, and how many elements of the last sum were wrong."""
    dtype = getattr(torch, order["type"])
    values = contribution(dist.get_rank(), order["bytes"] // dtype.itemsize, dtype)
    states = torch.empty_like(values)
    token(reduce, states, values, order["calls"] // 4)
    seconds = [token(reduce, states, values, order["calls"]) for _ in range(order["tokens"])]
    ranks = range(dist.get_world_size())
    total = torch.stack([contribution(rank, values.numel(), dtype) for rank in ranks]).sum(0)
    return {"seconds": statistics.median(seconds), "wrong": int((states != total).sum())}


def deepspeed_reduce() -> Reduce:
    """Return DeepSpeed's call, which is of its shared memory where all ranks are on one host."""
    comm: Any = import_module("deepspeed.comm")
    comm.init_distributed("gloo")
    reduce: Reduce = comm.inference_all_reduce
    return reduce


def deepspeed_types() -> list[str]:
    """Return the types for which DeepSpeed uses its shared memory on this processor; others go through gloo."""
    level = getattr(import_module("deepspeed.comm").comm.cdb, "shm_vector_kernel_level", 0)
    return ["bfloat16", "float32"] if level >= 2 else ["float32"] if level == 1 else []


class Model:
    """A Llama of random weights, split over all ranks by transformers."""

    def __init__(self, folder: str) -> None:
        transformers: Any = import_module("transformers")
        config = import_module("transformers.distributed").DistributedConfig(
            tp_size=dist.get_world_size(), tp_plan="auto"
        )
        self._model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, distributed_config=config, dtype=torch.float32
        )
        self._model.eval()

    def __call__(self, order: Order) -> dict[str, Any]:
        """Return the seconds for some tokens, these tokens, and the prompt's last logits."""
        prompt = torch.arange(3, 3 + PROMPT)[None]
        with torch.inference_mode():
            logits = self._model(prompt).logits[0, -1]
            dist.barrier()
            began = time.perf_counter()
            count = order["tokens"]
            found = self._model.generate(
                prompt, max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0
            )
            seconds = time.perf_counter() - began
        return {"seconds": seconds, "tokens": found[0, PROMPT:].tolist(), "logits": logits.tolist()}


def save_model(folder: str, layers: int) -> None:
    """Save a small Llama of random weights, the same ones every time."""
    transformers: Any = import_module("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=512,
        intermediate_size=1024,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=8,
        vocab_size=1024,
        max_position_embeddings=512,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


def serve(contender: str, answers: TextIO) -> None:
    """Follow orders until there are no more."""
    dist.init_process_group(BACKENDS[contender], timeout=LIMIT)
    reduce: Reduce = deepspeed_reduce() if contender == "deepspeed" else dist.all_reduce
    ready = {"types": deepspeed_types() if contender == "deepspeed" else ["bfloat16", "float32"]}
    print(json.dumps(ready), file=answers, flush=True)
    model: Model | None = None
    for line in sys.stdin:
        order = json.loads(line)
        if "model" in order:
            model = model or Model(order["model"])
            answer = model(order)
        else:
            answer = measured_calls(reduce, order)
        print(json.dumps(answer), file=answers, flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Argument: the contender's name. What libraries print goes to the error output."""
    answers = answers_output()
    torch.set_num_threads(1)
    serve(sys.argv[1], answers)


if __name__ == "__main__":
    main()
