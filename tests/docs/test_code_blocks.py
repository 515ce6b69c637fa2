# SPDX-License-Identifier: Apache-2.0
"""Every code block of the site runs as it stands, or a note beside it says why not."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import code_blocks
import pytest
import site_pictures
from code_blocks import LANGUAGES, NOTES, ROOT, Block

from hemiola.cluster import register
from hemiola.cluster.cluster import end

PAGES = {str(page.relative_to(ROOT)): page for page in code_blocks.documents()}
BLOCKS = [block for page in PAGES.values() for block in code_blocks.blocks(page)]
CODE = [block for block in BLOCKS if block.language in ("python", "sh")]
RUN = sorted({block.page for block in CODE if not block.note})
LONG = sorted({block.page for block in CODE if block.note == "long"})
#: What a page's blocks print, among other things.
PRINTED = {
    "README.md": ["[10.0, 10.0, 10.0, 10.0]", "all_reduce_weighted_exchange"],
    "docs/tutorial/first-training.md": ["step 99: loss 0.0000"],
}
AS_ROOT = [block for block in CODE if block.note == "needs root"]


def test_a_block_is_found_with_its_language_and_its_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_blocks, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("A page.\n<!-- block: saved as a.py -->\n```python\nx\n```\n\n```sh\ny\n```\n\n    z\n")
    first, second, third = code_blocks.blocks(page)
    assert first == Block("page.md", 3, "python", "x\n", "saved as a.py")
    assert (first.kind, first.file) == ("saved as FILE", "a.py")
    assert second == Block("page.md", 7, "sh", "y\n")
    assert (third.line, third.language) == (11, "")


def test_a_block_that_fails_fails_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_blocks, "ROOT", tmp_path)
    monkeypatch.setattr(code_blocks, "readers_files", lambda folder: None)
    page = tmp_path / "page.md"
    for block in ("```python\nassert False\n```", "```sh\nfalse\ntrue\n```", "```sh\necho $nothing\n```"):
        page.write_text(f"A page.\n\n{block}\n")
        with pytest.raises(AssertionError, match=r"page\.md.* fails with exit code 1"):
            code_blocks.run(page, tmp_path, timeout_s=60)


def test_every_block_has_a_language_and_a_note_that_there_is() -> None:
    assert len(CODE) > 50
    assert [str(block) for block in BLOCKS if block.language not in LANGUAGES] == []
    assert [str(block) for block in BLOCKS if block.note and block.kind not in NOTES] == []


def test_a_test_that_runs_a_block_is_there_and_names_its_page() -> None:
    for block in BLOCKS:
        if block.kind == "run by FILE":
            test = ROOT / block.file
            assert test.exists(), block
            assert Path(block.page).name in test.read_text() or "printed_commands" in block.file, block


def not_made(name: str, folder: Path) -> set[str]:
    """Return the pictures of a page for which its blocks have left no file."""
    made = {path.stem for path in folder.iterdir()}
    return {picture.stem for picture in site_pictures.remade(PAGES[name])} - made


@pytest.mark.parametrize("name", RUN)
def test_the_blocks_of_a_page_run(name: str, tmp_path: Path) -> None:
    if "torchrun" in PAGES[name].read_text() and importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch (pip install torch)")
    printed = code_blocks.run(PAGES[name], tmp_path, timeout_s=240)
    assert [text for text in PRINTED.get(name, []) if text not in printed] == []
    if name not in LONG:
        assert not_made(name, tmp_path) == set()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", LONG)
def test_the_long_blocks_of_a_page_run(name: str, tmp_path: Path) -> None:
    code_blocks.run(PAGES[name], tmp_path, timeout_s=800, long=True)
    assert not_made(name, tmp_path) == set()


@pytest.mark.parametrize("block", AS_ROOT, ids=str)
def test_a_block_that_needs_rights_runs_where_there_are(block: Block, tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("")
    up = register.names()
    try:
        code_blocks.run_shell(block, tmp_path, timeout_s=240)
    except AssertionError as error:
        if "may not create" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[-1])
    finally:
        for name in set(register.names()) - set(up):
            end(name)
