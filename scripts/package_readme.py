# SPDX-License-Identifier: Apache-2.0
"""README as a package index shows it; the build calls this as a provider of metadata (pyproject.toml).

An index does not know the repository's files. So links to them become links to `Source` of [project.urls], at the
version's tag. Without a `Source` their text stays and the links go, since they would lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[1] / "README.md"
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)([^)\s]*)\)")


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the field `readme`; the version must be known before, for the tag."""
    if settings:
        raise ValueError(f"expected no settings of package_readme, found {dict(settings)}")
    source = project.get("urls", {}).get("Source")
    text = for_an_index(README.read_text(encoding="utf-8"), source, f"v{project['version']}")
    return {"readme": {"content-type": "text/markdown", "text": text}}


def for_an_index(markdown: str, source: str | None, tag: str) -> str:
    """Return a page with absolute links to files of the repository at `source`, or without them."""
    return _LINK.sub(rf"[\1]({source}/blob/{tag}/\2)" if source else r"\1", markdown)
