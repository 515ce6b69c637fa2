# SPDX-License-Identifier: Apache-2.0
"""Remakes the pictures that pages of the docs show: `python scripts/site_pictures.py`, or some with their pages' names.

The blocks of a page run in an empty folder. The picture docs/pictures/PAGE/NAME.png is then the file NAME.png that they
have left, or NAME.html as headless Chromium shows it in the middle of its time. docs/pictures/demo.svg is another
script's: scripts/demo_picture.py."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import code_blocks
from pages import ROOT

FOLDER = ROOT / "docs/pictures"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Run in the page once it is drawn. Virtual time goes on for as long as this waits.
_MIDDLE = """<script>const drawn = setInterval(() => {
  if (!window.hemiola?.ready) return;
  clearInterval(drawn);
  hemiola.seek(hemiola.data.length / 2);
  hemiola.select(0);
}, 50);</script>"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "page", nargs="*", help="such as docs/how-to/explore.md; by default every page with a picture"
    )
    pages = [Path(name).resolve() for name in parser.parse_args().page] or code_blocks.documents()
    for page in pages:
        if wanted := remade(page):
            with tempfile.TemporaryDirectory() as folder:
                code_blocks.run(page, Path(folder), timeout_s=600, long=True)
                for picture in wanted:
                    make(picture, Path(folder))
                    print(picture.relative_to(ROOT))


def remade(page: Path) -> list[Path]:
    """Return the pictures of a page that its blocks make."""
    return [picture for picture in code_blocks.pictures(page) if picture.parent.parent == FOLDER]


def make(picture: Path, folder: Path) -> None:
    """Write a picture from what a page's blocks have left in a folder."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    page = folder / f"{picture.stem}.html"
    if page.exists():
        screenshot(page, picture)
    else:
        shutil.copyfile(folder / picture.name, picture)
    _with_few_colours(picture)


def screenshot(page: Path, picture: Path) -> None:
    """Write what headless Chromium shows of a page of `hemiola.explore`, 1280 × 800 pixels."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"site_pictures: expected a browser to open {page.name}: apt-get install chromium")
    page.write_text(page.read_text(encoding="utf-8") + _MIDDLE, encoding="utf-8")
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=1280,800",
    ]
    options += ["--virtual-time-budget=10000", f"--user-data-dir={page.parent / 'profile'}"]
    command = [browser, *options, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def _with_few_colours(picture: Path) -> None:
    """Make a picture's file a third as large; nobody sees the difference in lines and words."""
    from PIL import Image

    with Image.open(picture) as image:
        image.convert("RGB").quantize(128).save(picture, optimize=True)


if __name__ == "__main__":
    main()
