# SPDX-License-Identifier: Apache-2.0
"""Calls public functions with one argument of the wrong type, everything else right, and says which answers are bad."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import api_calls
import numpy as np

import hemiola as hm

#: Phrases of the binding and of the interpreter, which know nothing of the API.
FOREIGN = (
    "incompatible function arguments",
    "not supported between",
    "object is not",
    "std::",
    "has no attribute",
)


def bad_answers(objects: dict[str, Any], prefix: str = "") -> list[str]:
    """Return a line for each wrong argument that was not answered as it should be."""
    return [
        line
        for call in api_calls.calls(objects)
        if call.name.startswith(prefix)
        for line in _bad_answers_of(call)
    ]


def _bad_answers_of(call: api_calls.Call) -> Iterator[str]:
    for parameter in call.parameters:
        for wrong in api_calls.wrong_for(parameter):
            arguments = api_calls.right_arguments(call) | {parameter.name: wrong}
            by_place = [arguments.pop(p.name) for p in _leading(call, arguments)]
            problem = _problem(call, by_place, arguments)
            if problem:
                yield f"{call.name}({parameter.name}={wrong!r}): {problem}"


def _leading(call: api_calls.Call, arguments: dict[str, Any]) -> list[inspect.Parameter]:
    """Return the parameters that go without a name: at least those that must, up to the first that is left out."""
    found = []
    for parameter in call.parameters:
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.name not in arguments:
            break
        found.append(parameter)
    return found


def _problem(call: api_calls.Call, by_place: list[Any], by_name: dict[str, Any]) -> str:
    try:
        result = call.function(*by_place, **by_name)
    except hm.errors.HemiolaError as error:
        text = str(error)
        if "\n" in text or any(phrase in text for phrase in FOREIGN):
            return f"not in our words: {text}"
        if "expected" not in text or "found" not in text:
            return f"does not say what was expected and found: {text}"
        return "" if isinstance(error, hm.errors.ArgumentError) else f"is a {type(error).__name__}: {text}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"no error, but {result!r:.60}"


def on_a_communicator() -> list[str]:
    """Call the communicator's methods, as the only rank of a job."""
    comm = hm.init(timeout_s=20)
    handle = comm.start_all_reduce(np.zeros(4))
    return bad_answers({"Communicator": comm, "Handle": handle}, "hemiola.Communicator.") + bad_answers(
        {"Handle": handle}, "hemiola.Handle."
    )
