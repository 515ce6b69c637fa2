"""Arguments of the wrong type, answered in the API's own words: the argument, what was expected, what was found.

`typed` checks the calls of Python functions. What the core refuses is told by `compiled`, which the core calls."""

from hemiola.arguments.typed import typed

__all__ = ["typed"]
