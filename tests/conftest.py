# SPDX-License-Identifier: Apache-2.0
"""What all tests share: no test depends on how fast this machine is at the moment."""

import signal

from hypothesis import settings

# A shell that starts something in the background has it, and all that it starts, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("hemiola", deadline=None, print_blob=True)
settings.load_profile("hemiola")
