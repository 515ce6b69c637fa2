# SPDX-License-Identifier: Apache-2.0
"""An extension of griffe: docstrings as the Markdown that the site shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from api_reference import rendered


class Docstrings(griffe.Extension):
    """Lets sections be lists of their items."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = "\n".join(rendered(obj.docstring.value))
