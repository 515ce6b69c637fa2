# SPDX-License-Identifier: Apache-2.0
"""JSON of other programs as plain values, with the refusals that files of strangers need."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from hemiola.topology.place import Place


def parse(text: str, source: str) -> dict[str, Any]:
    """Read a JSON object; raise FormatError that names the line where the text is none."""
    try:
        document = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        Place(source, error.lineno).fail(f"not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        Place(source).fail(f"not JSON that is read here: {error}")
    if not isinstance(document, dict):
        Place(source).fail(f"expected a JSON object, found {type(document).__name__}")
    return document


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _no_number(text[:40])
    return number


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"found {name}, which is no number")
