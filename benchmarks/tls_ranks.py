# SPDX-License-Identifier: Apache-2.0
"""One rank of one contender of benchmarks/tls.py. A line of JSON from standard input is an order, and one to standard
output its answer."""

from __future__ import annotations

import json
import sys

from network_rank import LIBRARIES, measured, wrong_elements


def main() -> None:
    """Argument: the library."""
    library = LIBRARIES[sys.argv[1]]()
    print(library.rank, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        answer = {"wrong": wrong_elements(library, order)} if order.get("check") else measured(library, order)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
