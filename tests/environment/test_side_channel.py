# SPDX-License-Identifier: Apache-2.0
"""What is said where a log, a record or a metric fails: path and reason, once, and nothing is raised."""

from __future__ import annotations

import errno
import logging

import pytest

from hemiola.side_channel import harmless


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/full/a"), "'/full/a': No space left on device"),
        (OSError(errno.EBADF, "Bad file descriptor"), "Bad file descriptor"),
        (OSError("it is gone"), "OSError: it is gone"),
        (ValueError("I/O operation on closed file"), "ValueError: I/O operation on closed file"),
        (RuntimeError(), "RuntimeError: "),
    ],
)
def test_an_error_is_a_warning_with_its_path_and_reason(
    error: Exception, reason: str, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    what = f"a record of {request.node.name}"
    with caplog.at_level(logging.WARNING, "hemiola"):
        for _ in range(2):
            with harmless(what):
                raise error
    assert [each.getMessage() for each in caplog.records] == [f"{what}: {reason}. The job goes on without it"]
