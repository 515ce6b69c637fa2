# SPDX-License-Identifier: Apache-2.0
"""What tests launch from the command line: `place` prints a rank's place, `adds` reduces with the others."""

import json
import os
import sys

from hemiola import environment


def place() -> None:
    variables = (
        environment.RANK,
        environment.RANK_COUNT,
        environment.LOCAL_RANK,
        environment.LOCAL_RANK_COUNT,
    )
    told = {"place": [variable.value() for variable in variables], "arguments": sys.argv[2:]}
    print(json.dumps(told | {"folder": os.getcwd(), "color": os.environ.get("COLOR")}))


def adds() -> None:
    import numpy as np

    import hemiola as hm

    comm = hm.init()
    print(int(comm.all_reduce(np.full(3, comm.rank + 1))[2]))


if __name__ == "__main__":
    {"place": place, "adds": adds}[sys.argv[1]]()
