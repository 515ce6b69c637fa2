# SPDX-License-Identifier: Apache-2.0
"""Every command that takes --json has a schema, which all tests of commands apply; documents repeat the question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from hemiola.cli import make_app
from json_documents import SCHEMAS, judge_document


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, each in getattr(command, "commands", {}).items():
        if hasattr(each, "commands"):
            yield from commands(each, f"{path}{name} ")
        else:
            yield f"{path}{name}", each


def test_each_command_with_json_has_a_schema_on_the_page() -> None:
    found = [name for name, each in commands(typer.main.get_command(make_app())) if takes_json(each)]
    assert len(found) > 15
    page = (SCHEMAS.parent / "json.md").read_text()
    for name in found:
        schema = SCHEMAS / f"{name.replace(' ', '-')}.json"
        assert json.loads(schema.read_text())["title"] == f"hemiola {name} --json"
        assert f"| `hemiola {name}` | [{schema.name}](json/{schema.name}) |" in page


def loose(schema: Any, where: str) -> Iterator[str]:
    """Yield the places of a schema that allow objects or lists of anything, or keys that may lack."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not schema.keys() & {"type", "const", "enum", "anyOf"}:
        yield f"{where}: anything"
    if "array" in kinds and "items" not in schema:
        yield f"{where}: a list of anything"
    if (
        "object" in kinds
        and "properties" not in schema
        and not isinstance(schema.get("additionalProperties"), dict)
    ):
        yield f"{where}: an object of any content"
    if "properties" in schema and schema.get("additionalProperties") is not False:
        yield f"{where}: more keys"
    is_told = "oneOf" in schema  # which keys come together
    if not is_told and schema.get("properties", {}).keys() - set(schema.get("required", [])) - MAY_LACK:
        yield f"{where}: keys that may lack"
    for name, inside in schema.get("properties", {}).items():
        yield from loose(inside, f"{where}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from loose(schema[key], f"{where}[]")
    for choice in schema.get("anyOf", []):
        yield from loose(choice, where)


#: Of a run that Ctrl-C has ended.
MAY_LACK = {"interrupted"}


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_no_schema_allows_anything(path: Path) -> None:
    assert list(loose(json.loads(path.read_text()), path.stem)) == []


def test_what_allows_anything_is_found() -> None:
    assert list(loose({"type": "object"}, "a")) == ["a: an object of any content"]
    assert list(loose({"type": "array"}, "a")) == ["a: a list of anything"]
    assert list(loose({}, "a")) == ["a: anything"]
    loose_inside = {"type": "object", "properties": {"b": {"type": "array", "items": {}}}}
    assert list(loose(loose_inside, "a")) == ["a: more keys", "a: keys that may lack", "a.b[]: anything"]


def takes_json(command: Any) -> bool:
    return any("--json" in parameter.opts for parameter in command.params)


def test_a_document_repeats_the_question(hemiola, cluster: Path) -> None:
    ran = hemiola(
        "simulate", "all_reduce_ring", cluster, "1MiB", "--late", "1=1ms", "--slow", "2=2", "--json"
    )
    asked = {
        key: ran.data[key] for key in ("command", "version", "schedule", "topology_file", "late", "slow")
    }
    assert asked == {
        "command": "simulate",
        "version": 1,
        "schedule": "all_reduce_ring",
        "topology_file": str(cluster),
        "late": {"1": 1e-3},
        "slow": {"2": 2.0},
    }
    assert ran.data["network"] == "fluid"


def test_a_document_of_another_form_is_refused(hemiola, cluster: Path) -> None:
    document = hemiola("plan", "all_reduce", cluster, "1MiB", "--json").data
    for wrong in ({**document, "version": 2}, {**document, "seconds": "1 ms"}, {**document, "more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            judge_document(wrong)


def test_written_files_are_named(hemiola, cluster: Path, tmp_path: Path) -> None:
    saved, chart, trace = tmp_path / "x.sched", tmp_path / "x.svg", tmp_path / "x.json"
    told = hemiola("plan", "all_reduce", cluster, "1MiB", "--save", saved, "--chart", chart).out.replace(
        "\n", ""
    )
    assert f"Written to {saved}." in told
    assert f"Written to {chart}." in told
    told = hemiola("simulate", "all_reduce_ring", cluster, "1MiB", "--trace", trace).out.replace("\n", "")
    assert f"Written to {trace}." in told
    told = hemiola("view", "all_reduce_ring", "--ranks", 4, "--chart", chart).out.replace("\n", "")
    assert f"Written to {chart}." in told
