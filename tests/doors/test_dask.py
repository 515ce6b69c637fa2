# SPDX-License-Identifier: Apache-2.0
"""A communicator on the workers of a real Dask cluster."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dask_tasks as tasks
import pytest
from distributed import Client, wait

from hemiola.dask import CommunicatorPlugin, run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with tasks.client_of_three() as client:
        yield client


@pytest.fixture(scope="module")
def plugin(client: Client) -> CommunicatorPlugin:
    plugin = CommunicatorPlugin()
    client.register_plugin(plugin)
    return plugin


def test_tasks_on_all_workers_reduce_together(client: Client, plugin: CommunicatorPlugin) -> None:
    assert run(client, plugin, tasks.summed) == [(rank, [6.0, 6.0]) for rank in range(3)]
    found = client.run(tasks.summed)
    assert {worker: found[worker][0] for worker in plugin.workers} == {
        worker: rank for rank, worker in enumerate(plugin.workers)
    }
    assert all(total == [6.0, 6.0] for _, total in found.values())


def test_several_communicators_serve_at_once(client: Client, plugin: CommunicatorPlugin) -> None:
    pair = CommunicatorPlugin(plugin.workers[2:0:-1], name="pair")
    client.register_plugin(pair)
    assert run(client, pair, tasks.summed, "pair") == [(0, [3.0, 3.0]), (1, [3.0, 3.0])]
    assert run(client, plugin, tasks.summed) == [(rank, [6.0, 6.0]) for rank in range(3)]
    with pytest.raises(ValueError, match=rf"found \['{re.escape(plugin.workers[0])}'\]"):
        client.submit(tasks.summed, "pair", workers=[plugin.workers[0]], pure=False).result(timeout=60)
    client.unregister_worker_plugin("pair")
    with pytest.raises(ValueError, match="expected a task on one of its ranks"):
        run(client, pair, tasks.summed, "pair")


def test_a_worker_that_is_named_twice_is_refused(plugin: CommunicatorPlugin) -> None:
    with pytest.raises(ValueError, match="distinct workers"):
        CommunicatorPlugin([plugin.workers[0]] * 2)


def test_a_new_plugin_takes_the_place_of_one_of_its_name(client: Client, plugin: CommunicatorPlugin) -> None:
    again = CommunicatorPlugin()
    client.register_plugin(again)
    assert run(client, again, tasks.summed)[0] == (0, [6.0, 6.0])


@pytest.mark.long
def test_a_worker_that_dies_is_named_and_the_rest_go_on_with_a_new_plugin() -> None:
    with tasks.client_of_three() as client:
        plugin = CommunicatorPlugin(timeout_s=60)
        client.register_plugin(plugin)
        futures = [
            client.submit(tasks.summed_until_lost, 2, workers=[worker], pure=False)
            for worker in plugin.workers
        ]
        wait(futures[:2], timeout=60)
        for rank, text in client.gather(futures[:2]):
            assert rank == 2
            assert "rank 2 has died" in text
        client.cancel(futures)
        client.wait_for_workers(3, timeout=60)
        again = CommunicatorPlugin(timeout_s=60)
        client.register_plugin(again)
        n = len(again.workers)
        assert [rank for rank, _ in run(client, again, tasks.summed)] == list(range(n))


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/dask.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "summed.py").write_text(block)
    subprocess.run([sys.executable, "summed.py"], cwd=tmp_path, check=True, timeout=120)
