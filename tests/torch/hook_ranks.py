# SPDX-License-Identifier: Apache-2.0
"""What ranks of the tests of DDP's communication hooks do; gradients are whole numbers that each test chooses."""

from __future__ import annotations

from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import nn

import hemiola.torch as hemiola_torch

SIZES = (40, 3, 200, 1)
STEPS = 5


class Chosen(nn.Module):
    """Parameters whose gradients are what one asks for."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.parts = nn.ParameterList(nn.Parameter(torch.zeros(size)) for size in sizes)

    def forward(self, gradients: list[Any]) -> Any:
        return sum((part * one).sum() for part, one in zip(self.parts, gradients, strict=True))


def gradients_of(rank: int, step: int) -> list[Any]:
    """Return whole numbers, most of them of unlike magnitudes."""
    draw = torch.Generator().manual_seed(1000 * rank + step)
    return [torch.randint(-64, 65, (size,), generator=draw).float() for size in SIZES]


def trained(state: Any, hook: Any, steps: range = range(STEPS), model: Any = None) -> Any:
    """Add up gradients, several buckets a step, and return the model."""
    model = model or Chosen(SIZES)
    parallel = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.0001)
    parallel.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    for step in steps:
        optimizer.zero_grad()
        (-parallel(gradients_of(dist.get_rank(), step))).backward()
        optimizer.step()
    return model


def averages(steps: range = range(STEPS)) -> list[Any]:
    """Return what dense gradients add up to; exact where the ranks are a power of two."""
    n = dist.get_world_size()
    every = [gradients_of(rank, step) for rank in range(n) for step in steps]
    return [sum(parts) / n for parts in zip(*every, strict=True)]


def everybody_has(parts: Any) -> None:
    for part in parts:
        smallest, largest = part.detach().clone(), part.detach().clone()
        dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        assert torch.equal(smallest, largest)


def pruned() -> list[int]:
    """What has been sent and what is kept back add up to the dense gradients, in buckets that change after a step."""
    pruning = hemiola_torch.PrunedGradients(density=0.1)
    model = trained(pruning, hemiola_torch.PrunedGradients.reduce)
    everybody_has(model.parts)
    residuals = pruning.state_dict(model)["residuals"]
    assert set(residuals) == {f"parts.{index}" for index in range(len(SIZES))}
    for index, average in enumerate(averages()):
        kept_back = residuals[f"parts.{index}"]
        assert not torch.equal(model.parts[index].detach(), average) or SIZES[index] == 1
        dist.all_reduce(kept_back, op=dist.ReduceOp.AVG)
        assert torch.equal(model.parts[index].detach() - kept_back, average)  # SGD subtracts
    return [pruning.step, pruning.kept]


def dense() -> None:
    """A density of 1 is DDP."""
    model = trained(hemiola_torch.PrunedGradients(density=1), hemiola_torch.PrunedGradients.reduce)
    for part, average in zip(model.parts, averages(), strict=True):
        assert torch.equal(part.detach(), average)


def gone_on_with() -> None:
    """A checkpoint after two steps leads where five steps lead."""
    whole = trained(hemiola_torch.PrunedGradients(density=0.1), hemiola_torch.PrunedGradients.reduce)
    first, second = (hemiola_torch.PrunedGradients(density=0.1) for _ in range(2))
    model = trained(first, hemiola_torch.PrunedGradients.reduce, range(2))
    again = Chosen(SIZES)
    again.load_state_dict(model.state_dict())
    second.load_state_dict(again, first.state_dict(model))
    trained(second, hemiola_torch.PrunedGradients.reduce, range(2, STEPS), again)
    assert second.step == STEPS
    for one, other in zip(whole.parts, again.parts, strict=True):
        assert torch.equal(one, other)


def refused() -> list[str]:
    """What the hook says of a density, a state and a group that it cannot use."""
    said = []
    model = Chosen(SIZES)
    gloo = dist.new_group(backend="gloo")
    wrong = {"step": 1, "residuals": {"parts.0": torch.zeros(2)}}
    for call in (
        lambda: hemiola_torch.PrunedGradients(density=2),
        lambda: hemiola_torch.PrunedGradients(0.5).load_state_dict(model, wrong),
        lambda: trained(hemiola_torch.PrunedGradients(0.5, group=gloo), hemiola_torch.PrunedGradients.reduce),
    ):
        try:
            call()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    dist.destroy_process_group(gloo)
    return said


def rounded() -> float:
    """In bfloat16, 256 + 1 is 256: three such contributions are lost unless they are added as float32."""
    rank = dist.get_rank()
    model = Chosen((5, 2))
    parallel = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.00001)
    parallel.register_comm_hook(hemiola_torch.BFloat16Gradients(), hemiola_torch.BFloat16Gradients.reduce)
    for _ in range(3):
        model.zero_grad()
        one = 256.0 if rank == 0 else 1.0
        parallel([torch.full((5,), one), torch.full((2,), float(rank))]).backward()
    first, second = (part.grad for part in model.parts)
    everybody_has([first, second])
    assert torch.equal(second, torch.full((2,), sum(range(dist.get_world_size())) / dist.get_world_size()))
    assert len(set(first.tolist())) == 1
    return float(first[0])


def disagreeing() -> str:
    """What DDP raises out of backward when a rank's buckets are of another size."""
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
    pruning = hemiola_torch.PrunedGradients(density=0.5)
    model.register_comm_hook(pruning, hemiola_torch.PrunedGradients.reduce)
    try:
        if dist.get_rank() == 1:
            dist.all_reduce(torch.zeros(3))
        else:
            model(torch.ones(2, 4)).sum().backward()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def not_finite() -> list[list[bool]]:
    """Which of a bucket's averages are finite where one rank has an infinity; then those of the next pass."""
    with mock.patch("hemiola.quantization.choice._pays", return_value=True):
        state, model = hemiola_torch.QuantizedGradients(), Chosen((2048,))
        parallel = nn.parallel.DistributedDataParallel(model)
        parallel.register_comm_hook(state, hemiola_torch.QuantizedGradients.reduce)
        found = []
        for odd in (float("inf"), 1.0):
            gradient = torch.ones(2048)
            if dist.get_rank() == 1:
                gradient[0] = odd
            model.zero_grad()
            parallel([gradient]).backward()
            average = model.parts[0].grad
            assert average is not None
            found.append([bool(part.isfinite().all()) for part in average.split(256)])
    residual = state.state_dict(model)["residuals"]["parts.0"]
    assert residual.isfinite().all()
    return found


def quantized() -> list[Any]:
    """Between processes nothing is rounded; where eight bits are forced, what is owed makes up for every rounding."""
    plain = hemiola_torch.QuantizedGradients()
    model = trained(plain, hemiola_torch.QuantizedGradients.reduce)
    for part, average in zip(model.parts, averages(), strict=True):
        assert torch.equal(part.detach(), average)
    choice = "hemiola.quantization.choice"
    forgotten: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # sizes for which plain messages were chosen
    with (
        mock.patch(f"{choice}._pays", return_value=True),
        mock.patch(f"{choice}._known", forgotten),
        mock.patch("hemiola.quantization.race.Race.next", return_value=True),
    ):
        rounding = hemiola_torch.QuantizedGradients()
        model = trained(rounding, hemiola_torch.QuantizedGradients.reduce)
        everybody_has(model.parts)
        worst, exact = 0.0, []
        owed = rounding.state_dict(model)["residuals"]
        for index, average in enumerate(averages()):
            kept_back = owed[f"parts.{index}"]
            dist.all_reduce(kept_back, op=dist.ReduceOp.AVG)
            difference = model.parts[index].detach() - kept_back - average  # SGD subtracts
            worst = max(worst, float(difference.abs().max()))
            exact.append(torch.equal(model.parts[index].detach(), average))
        assert not all(exact)
        first, second = (hemiola_torch.QuantizedGradients() for _ in range(2))
        begun = trained(first, hemiola_torch.QuantizedGradients.reduce, range(2))
        again = Chosen(SIZES)
        again.load_state_dict(begun.state_dict())
        second.load_state_dict(again, first.state_dict(begun))
        trained(second, hemiola_torch.QuantizedGradients.reduce, range(2, STEPS), again)
        goes_on = max(float((a - b).abs().max()) for a, b in zip(again.parts, model.parts, strict=True))
    return [plain.quantized, rounding.quantized > STEPS, worst, goes_on]
