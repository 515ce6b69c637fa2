# SPDX-License-Identifier: Apache-2.0
"""Contents of files that are no topology, no schedule, no array and no measured times."""

from pathlib import Path

_BOMB = b"".join(b"%c: &%c [*%c, *%c]\n" % (name + 1, name + 1, name, name) for name in range(97, 120))

BROKEN_FILES = {
    "empty": b"",
    "bytes": bytes(range(256)),
    "no UTF-8": b"name: \xff\xfe",
    "half a mapping": b"ranks: 4\nlinks: [[0,",
    "a list": b"- 1\n- 2\n",
    "a number": b"4",
    "an alias bomb": b"a: &a [1, 1]\n" + _BOMB,
    "deep nesting": b"[" * 5000,
    "a control character": b"ranks: 4\x00",
    "a pickle": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
}

#: What the readers' own tests have collected.
CORPUS = sorted((Path(__file__).parent.parent / "formats" / "corpus").iterdir())
