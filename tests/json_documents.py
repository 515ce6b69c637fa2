# SPDX-License-Identifier: Apache-2.0
"""The documents that --json prints, judged by the schemas in docs/reference/json."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

SCHEMAS = Path(__file__).resolve().parents[1] / "docs/reference/json"


@cache
def _judge_of(command: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{command.replace(' ', '-')}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def read_document(text: str) -> dict[str, Any]:
    """Read what a command printed; raise ValidationError unless it is as the command's schema has it."""
    document: dict[str, Any] = json.loads(text)
    judge_document(document)
    return document


def judge_document(document: dict[str, Any]) -> None:
    """Raise ValidationError unless a document is as its command's schema has it."""
    _judge_of(document["command"]).validate(document)
