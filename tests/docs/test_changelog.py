# SPDX-License-Identifier: Apache-2.0
"""The changelog is one page in the form of Keep a Changelog."""

import re

from pages import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits"}


def test_each_version_is_one_page() -> None:
    first, *versions = re.split(r"^## ", CHANGELOG, flags=re.M)
    assert versions
    for version in versions:
        assert re.match(r"\[\d+\.\d+\.\d+\] - (unreleased|\d{4}-\d\d-\d\d)\n", version), version[:40]
        assert len(f"{first}{version}".encode()) <= 4096, "say what a user notices, in one short line"


def test_changes_stand_under_their_kind() -> None:
    kinds = set(re.findall(r"^### (.*)", CHANGELOG, re.M))
    assert kinds
    assert kinds <= KINDS
