# SPDX-License-Identifier: Apache-2.0
"""Damaged files of every format: read, or refused in one line; no other error, no hang."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola import interchange
from interchange.msccl_files import RIGHT
from interchange.test_mscclpp_plans import RIGHT_PLANS
from interchange.test_tacos_table import TABLE
from interchange.test_teccl import all_gather, all_to_all

_TEXTS = [
    *RIGHT.values(),
    *(json.dumps(plan) for plan in RIGHT_PLANS.values()),
    json.dumps(all_gather()),
    json.dumps(all_to_all()),
    TABLE,
]
_VALUES = [
    "0",
    "1",
    "-1",
    "3",
    "1e999",
    "99999999999999999999",
    "[]",
    "{}",
    "null",
    '""',
    '"',
    "<",
    "é",
    "true",
    "s",
    "i",
]
_TOKEN = re.compile(r'\d+|"\w*"|\w+')


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(_TEXTS), st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        token = data.draw(st.sampled_from(list(_TOKEN.finditer(text)) or [re.match("", "")]))
        text = text[: token.start()] + data.draw(st.sampled_from(_VALUES)) + text[token.end() :]
    if data.draw(st.booleans()):
        text = text[: data.draw(st.integers(0, len(text)))]
    path = tmp_path / "x"
    path.write_text(text)
    message = ""
    try:
        assert interchange.read(path).schedule.rank_count >= 1
    except hm.FormatError as error:
        message = str(error)
    assert not message or (message.startswith(f"'{path}'") and "\n" not in message)
