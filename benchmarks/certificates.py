# SPDX-License-Identifier: Apache-2.0
"""Certificates for benchmarks and tests, made with the command `openssl`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

#: A key that is made and checked fast.
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _openssl(folder: Path, *words: str | Path) -> None:
    made = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


class Authority:
    """An authority of its own, and what it signs."""

    def __init__(self, folder: Path, name: str = "our authority") -> None:
        folder.mkdir()
        self._folder = folder
        files = ("-keyout", "ca.key", "-out", "ca.crt")
        _openssl(folder, "req", "-x509", *_KEY, *files, "-days", "2", "-subj", f"/CN={name}")

    def files(self, name: str, *, days: int = 1) -> Path:
        """Return a folder for HEMIOLA_TLS with a certificate of this name; of -1 days, it has expired."""
        own = self._folder / name
        own.mkdir()
        shutil.copy(self._folder / "ca.crt", own)
        _openssl(own, "req", *_KEY, "-keyout", "tls.key", "-out", "request", "-subj", f"/CN={name}")
        signing = ("-CA", "../ca.crt", "-CAkey", "../ca.key", "-CAcreateserial", "-days", str(days))
        _openssl(own, "x509", "-req", "-in", "request", "-out", "tls.crt", *signing)
        return own
