# SPDX-License-Identifier: Apache-2.0
"""README is one screen whose figures come from a page of results."""

import pages
import pytest
import readme_table
from package_readme import dynamic_metadata, for_an_index
from pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = """# Results

## A machine

Machine: Some CPU, 3 cores, 8 GiB, Linux.

### Two ranks

Reproduce: `python benchmarks/shared_memory.py --ranks 2`

{table}
### Two ranks, busy

Reproduce: `python benchmarks/shared_memory.py --ranks 2 --busy`

| collective | ranks | size | Hemiola µs | A µs | A ÷ Hemiola |
|---|--:|--:|--:|--:|--:|
| broadcast | 2 | 1 KiB | 1,000.0 | 1.0 | 0.01 (0.01–0.01) |

## Another machine

{table}
"""
COLLECTIVES = ("all-reduce", "all-reduce in place", "broadcast")
HEAD = (
    "| collective | ranks | size | Hemiola µs | A µs | B µs | A ÷ Hemiola | B ÷ Hemiola |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|\n"
)


def test_readme_is_one_screen() -> None:
    assert len(README.splitlines()) <= 80


def test_links_of_readme_are_absolute_on_a_package_index_that_knows_the_source() -> None:
    project = {"version": "1.2.3", "urls": {"Source": "https://example.org/hemiola"}}
    found = list(pages.links(dynamic_metadata({}, project)["readme"]["text"]))
    own = [each for each in pages.links(README) if not each.startswith("https:")]
    assert len(found) == len(list(pages.links(README)))
    assert len(own) > 8
    for each in own:
        assert f"https://example.org/hemiola/blob/v1.2.3/{each}" in found


def test_readme_has_no_relative_link_on_a_package_index_without_a_source() -> None:
    found = dynamic_metadata({}, {"version": "1.2.3"})["readme"]["text"]
    assert all(each.startswith("https:") for each in pages.links(found))
    assert (
        for_an_index("[a page](docs/a.md) and [one](https://b.org)", None, "v1")
        == "a page and [one](https://b.org)"
    )


def page(*ratios: tuple[str, str, str, str, str]) -> str:
    """Return a page of results, with a row of each collective for each size, times and ratios of two peers."""
    rows = [
        f"| {collective} | 2 | {size} | 1,000.0 | {a} | {b} | {a_ratio} | {b_ratio} |\n"
        for collective in COLLECTIVES
        for size, a, b, a_ratio, b_ratio in ratios
    ]
    return PAGE.format(table=HEAD + "".join(rows))


def test_the_table_has_the_fastest_peer_of_each_cell() -> None:
    found = readme_table.table(
        page(
            ("1 KiB", "2,000.0", "3,000.0", "2.00 (1.00–4.00)", "3.00 (2.00–4.00)"),
            ("1 MiB", "900.0", "9,000.0", "0.90 (0.80–1.10)", "9.00 (8.00–9.00)"),
            ("64 MiB", "700.0", "500.0", "0.70 (0.60–0.80)", "0.50 (0.40–0.60)"),
        )
    ).splitlines()
    for line, collective in zip(found[2:5], COLLECTIVES, strict=True):
        assert line == f"| {collective} | 0.90 | 0.50 (64 MiB, 2 ranks) | 2 of 3 | 1 |"
    assert found[-1] == "Machine: Some CPU, 3 cores; 2 ranks, 1 KiB to 64 MiB."


def test_a_page_without_a_machine_is_refused() -> None:
    row = ("1 KiB", "2.0", "3.0", "2.00 (1.00–4.00)", "3.00 (2.00–4.00)")
    with pytest.raises(AssertionError, match="expected a line 'Machine:"):
        readme_table.table(page(row).replace("Machine:", ""))
