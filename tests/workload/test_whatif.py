# SPDX-License-Identifier: Apache-2.0
"""hemiola.whatif: its parts add up, it counts what its model sends, and nothing is faster than the bound."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.errors import ArgumentError, FormatError
from hemiola.workload import named, resnet_50, transformer
from hemiola.workload.bars import bars_of

HOSTS = hm.topologies.hosts(2, 4, 4, latency_s=1e-6, bandwidth=150e9, nic_latency_s=3e-6, nic_bandwidth=25e9)
SWITCH = hm.topologies.switch(8, latency_s=2e-6, bandwidth=25e9)
SMALL = transformer(4, 512, 128, vocabulary=1000)
SPLITS = [
    "",
    "bucket=0",
    "tp=2",
    "tp=4,zero=3",
    "fsdp",
    "zero1",
    "zero2,micro=2",
    "pp=2,micro=4",
    "tp=2,pp=2,micro=2",
]


def split(text: str) -> hm.Parallel:
    from hemiola.workload.parallel import parse_parallel

    return parse_parallel(text)


@pytest.mark.parametrize("text", SPLITS)
@pytest.mark.parametrize("network", [HOSTS, SWITCH], ids=["hosts", "switch"])
def test_parts_add_up_and_nothing_is_faster_than_the_bound(network: hm.Topology, text: str) -> None:
    found = hm.whatif(SMALL, network, parallel=split(text))
    assert found.seconds == pytest.approx(found.compute_s + found.exposed_s + found.waiting_s)
    assert found.hidden_s <= found.compute_s * (1 + 1e-9)
    assert found.bound_s <= found.seconds * (1 + 1e-6)
    assert found.bound_s <= min(found.others.values()) * (1 + 1e-6)
    computed = SMALL.seconds * found.parallel.micro / found.parallel.tp
    if found.parallel.pp == 1:
        assert found.compute_s == pytest.approx(computed)
    assert sum(call.exposed_s for call in found.calls) == pytest.approx(found.exposed_s)


def test_ddp_without_overlap_takes_computation_and_one_plan() -> None:
    """Given: all gradients at the end. Expect: the model's computation, and the plan of its gradients."""
    found = hm.whatif(SMALL, SWITCH, parallel=hm.Parallel(bucket=0))
    assert [(call.kind, call.nbytes, call.count) for call in found.calls] == [
        ("all_reduce", SMALL.gradient_bytes, 1)
    ]
    planned_s = hm.plan(SWITCH, "all_reduce", SMALL.gradient_bytes).seconds
    assert found.seconds == pytest.approx(SMALL.seconds + planned_s, rel=0.02)


def test_fsdp_gathers_each_layer_twice_and_scatters_it_once() -> None:
    found = hm.whatif(SMALL, SWITCH, parallel=hm.Parallel(zero=3))
    sent = {kind: sum(call.nbytes * call.count for call in found.calls if call.kind == kind) for kind in
            ("all_gather", "reduce_scatter")}  # fmt: skip
    assert sent == {"all_gather": 2 * SMALL.gradient_bytes, "reduce_scatter": SMALL.gradient_bytes}


def test_tensor_groups_reduce_activations_twice_a_block_and_pass() -> None:
    found = hm.whatif(SMALL, HOSTS, parallel=hm.Parallel(tp=4))
    (call,) = [one for one in found.calls if one.group == "tp"]
    assert (call.count, call.nbytes, call.rank_count) == (4 * 2 * 2, 128 * 512 * 2, 4)


def test_one_forward_one_backward_leaves_the_bubble_of_the_paper() -> None:
    """Given: p equal stages, m micro-batches, a free network. Expect: (m + p - 1)/m of the computation."""
    blocks = transformer(8, 256, 64, vocabulary=0)
    free = hm.topologies.switch(4, latency_s=0.0, bandwidth=1e18)
    found = hm.whatif(blocks, free, parallel=hm.Parallel(pp=4, micro=6))
    assert found.seconds == pytest.approx(blocks.seconds / 4 * (6 + 4 - 1), rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(delay_s=st.floats(0, 0.2), late=st.integers(0, 7))
def test_a_delay_is_felt_once_at_most(delay_s: float, late: int) -> None:
    punctual = hm.whatif(SMALL, SWITCH).seconds
    found = hm.whatif(SMALL, SWITCH, hm.Conditions(late={late: delay_s}))
    assert punctual * (1 - 1e-9) <= found.seconds <= punctual + delay_s + 1e-9
    assert found.seconds >= SMALL.seconds + delay_s


def test_slow_ranks_cost_time_and_sparse_gradients_save_it() -> None:
    plain = hm.whatif(SMALL, SWITCH, parallel=hm.Parallel(bucket=0)).seconds
    slow = hm.whatif(SMALL, SWITCH, hm.Conditions(slow={3: 4.0}), parallel=hm.Parallel(bucket=0)).seconds
    eighth = hm.whatif(SMALL, SWITCH, parallel=hm.Parallel(bucket=0, quantized=True)).seconds
    assert eighth < plain < slow


def test_experts_that_are_uneven_hold_up_the_others() -> None:
    model = transformer(2, 256, 64, vocabulary=0, experts=8)
    even = hm.whatif(model, SWITCH, parallel=hm.Parallel(ep=8))
    uneven = hm.whatif(model, SWITCH, parallel=hm.Parallel(ep=8, skew=2.0))
    assert sum(call.count for call in even.calls if call.kind == "all_to_all") == 2 * 2 * 2
    assert even.seconds < uneven.seconds


def test_lost_speed_beside_communication_counts() -> None:
    fast, slow = (
        hm.whatif(SMALL, SWITCH, parallel=hm.Parallel(zero=3), overlap_loss=loss) for loss in (0.0, 0.5)
    )
    assert fast.compute_s < slow.compute_s
    assert fast.seconds < slow.seconds


def test_the_papers_models_have_their_sizes() -> None:
    for name, parameters in {
        "gpt-7b": 6.7e9,
        "gpt-13b": 12.9e9,
        "megatron-3.3b": 3.3e9,
        "bert-large": 0.335e9,
    }.items():
        assert named(name).gradient_bytes / 2 == pytest.approx(parameters, rel=0.03)
    assert resnet_50(1, rate=1.0).gradient_bytes / 4 == pytest.approx(25.56e6, rel=0.01)
    assert sum(layer.forward_s for layer in resnet_50(1, rate=1.0).layers) == pytest.approx(8.2e9, rel=0.02)


def test_a_question_of_4096_ranks_has_no_more_tasks_than_one_of_8() -> None:
    large = hm.topologies.hosts(
        512, 8, 8, latency_s=1e-6, bandwidth=150e9, nic_latency_s=3e-6, nic_bandwidth=25e9
    )
    found = hm.whatif(SMALL, large, parallel=hm.Parallel(tp=8))
    small = hm.whatif(SMALL, SWITCH, parallel=hm.Parallel(tp=8))
    assert found.rank_count == 4096
    assert len(list(bars_of(found))) <= 2 * len(list(bars_of(small)))
    assert found.bound_s <= found.seconds


def test_the_explanation_names_limit_libraries_bound_and_memory() -> None:
    told = hm.whatif(SMALL, SWITCH).explain()
    for words in ("ring", "nccl-like", "pccl-like", "lower bound", "Memory is not modelled"):
        assert words in told


@pytest.mark.parametrize(
    ("model", "parallel", "words"),
    [
        ("gtp-7b", "", "'gtp-7b'"),
        ("transformer", "", "layers and width"),
        ("transformer:layers=0,width=8", "", "layers from 1"),
        ("transformer:layers=2,width=8,precision=int3", "", "'int3'"),
        ("transformer:layers=2,width=8,rate=0", "", "rate above 0"),
        ("resnet-50:batch=0", "", "batch from 1"),
        ("gpt-7b", "tp=3", "8 ranks"),
        ("gpt-7b", "dp=3", "8 ranks"),
        ("gpt-7b", "zero=4", "zero from 0 to 3"),
        ("resnet-50", "pp=1000", "8 ranks"),
        ("gpt-7b", "ep=3,dp=8", "ep to divide"),
    ],
)
def test_a_wrong_question_is_answered_in_a_sentence(model: str, parallel: str, words: str) -> None:
    with pytest.raises(ArgumentError, match="expected") as raised:
        hm.whatif(model, SWITCH, parallel=split(parallel))
    assert words in str(raised.value)


@pytest.mark.parametrize("text", ["tp", "tp=x", "pt=2", "tp=2,tp=2", "bucket=1.5.5", "skew=nan"])
def test_a_malformed_split_is_named(text: str) -> None:
    with pytest.raises(FormatError, match="parallel: expected"):
        split(text)


@pytest.mark.parametrize("text", ["gpt-7b:batch=x", "gpt-7b:width", "gpt-7b:name=a", "gpt-7b:batch=1.5"])
def test_a_malformed_model_is_named(text: str) -> None:
    with pytest.raises(FormatError, match="model 'gpt-7b': expected"):
        named(text)


def test_a_single_rank_sends_nothing() -> None:
    alone = hm.topologies.switch(1, latency_s=0.0, bandwidth=1e9)
    found = hm.whatif(SMALL, alone)
    assert (found.seconds, found.exposed_s, found.calls) == (pytest.approx(SMALL.seconds), 0.0, ())


def test_conditions_add_what_they_assume() -> None:
    late = hm.whatif(SMALL, SWITCH, hm.Conditions(late={1: 1e-3}))
    sparse = hm.whatif(SMALL, SWITCH, hm.Conditions(density=0.01))
    assert any("late rank" in line for line in late.assumptions)
    assert any("Zeros" in line for line in sparse.assumptions)


def test_ranks_that_are_not_there_are_named() -> None:
    with pytest.raises(ArgumentError, match="rank 9"):
        hm.whatif(SMALL, SWITCH, hm.Conditions(late={9: 1.0}))
    with pytest.raises(ArgumentError, match="overlap_loss"):
        hm.whatif(SMALL, SWITCH, overlap_loss=1.0)
