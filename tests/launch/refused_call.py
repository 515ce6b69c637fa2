# SPDX-License-Identifier: Apache-2.0
"""Runs a program in which the kernel refuses one system call: refused_call.py NUMBER ERROR COMMAND..."""

import ctypes
import os
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def main() -> None:
    """Install the filter and become the command."""
    number, error = int(sys.argv[1]), int(sys.argv[2])
    rules = [
        (_LOAD, 0, 0, 0),
        (_JUMP_IF_EQUAL, 0, 1, number),
        (_RETURN, 0, 0, _ERROR | error),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(rules), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program)),
    ):
        if libc.prctl(*request) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    os.execvp(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()
