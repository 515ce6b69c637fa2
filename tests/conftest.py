# SPDX-License-Identifier: Apache-2.0
"""What all tests share: no test depends on how fast this machine is at the moment."""

from __future__ import annotations

import signal
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# A shell that starts something in the background has it, and all that it starts, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("hemiola", deadline=None, print_blob=True)
settings.load_profile("hemiola")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Keep the tests of a module in one process of a run with several where they share a fixture: each process would
    make its own, which starts ranks or hosts. Other tests go anywhere, one by one."""
    from xdist.scheduler import LoadScopeScheduling

    @cache
    def shares(module: str) -> bool:
        return 'scope="module"' in (config.rootpath / module).read_text()

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.split("::")[0]
            return module if shares(module) else nodeid

    return Scheduling(config, log)
