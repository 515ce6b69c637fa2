# SPDX-License-Identifier: Apache-2.0
"""Arguments of the wrong type, answered with the argument, the expected and the found value.

`typed` checks the calls of Python functions. `compiled` words the core's refusals; the core calls it."""

from hemiola.arguments.typed import typed

__all__ = ["typed"]
