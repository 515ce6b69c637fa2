# SPDX-License-Identifier: Apache-2.0
"""The file in which torchrun looks for a rank's error, so that its summary ends with the rank to blame.

torchrun blames the rank whose file has the earliest time, in whole seconds; for one without a file it takes the time at
which it saw the process end. So a rank that fails over another one says that it failed later."""

from __future__ import annotations

import json
import os
import time
import traceback
from contextlib import suppress

from hemiola.environment import RANK as OWN_RANK
from hemiola.errors import Cause
from hemiola.whole_file import write_whole

_PLACE, _RANK = "TORCHELASTIC_ERROR_FILE", "RANK"
#: By how many whole seconds a consequence is later: torchrun may see in the next second who has died in this one.
_LATER_S = 2


def write_error_file(error: BaseException | None, cause: Cause | None) -> None:
    """Tell torchrun the error that ends this process.

    Parameters
    ----------
    error : None where there is none that can be known; then nothing is written.
    cause : the rank that the error blames; None for this rank.
    """
    place, rank = os.environ.get(_PLACE), os.environ.get(_RANK, "")
    if not place or error is None or OWN_RANK.value() is not None:  # torchrun's rank may launch others
        return
    is_consequence = cause is not None and str(cause.rank) != rank
    message = f"{type(error).__name__}: {error}"
    more = {"timestamp": str(int(time.time()) + (_LATER_S if is_consequence else 0))}
    if is_consequence and cause is not None:
        message = f"{type(error).__name__}: rank {cause.rank} {cause.reason}"
    else:
        more["py_callstack"] = "".join(traceback.format_exception(error))
    with suppress(OSError):  # a diagnosis never takes the place of the error
        write_whole(place, json.dumps({"message": {"message": message, "extraInfo": more}}))
