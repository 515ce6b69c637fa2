"""The exceptions Hemiola raises. Each is also the builtin a caller would expect."""

import builtins


class HemiolaError(Exception):
    """Base of everything Hemiola raises on purpose."""


class ArgumentError(HemiolaError, ValueError):
    """An argument is outside its legal range."""


class FormatError(HemiolaError, ValueError):
    """A file or text is malformed; the message names line or offset."""


class MismatchError(HemiolaError, ValueError):
    """Ranks disagree about an operation: shape, dtype, op, order or schedule."""


class LostRankError(HemiolaError, RuntimeError):
    """A rank died while others needed it."""


class TimeoutError(HemiolaError, builtins.TimeoutError):
    """A rank did not arrive in time."""


class InternalError(HemiolaError, RuntimeError):
    """A bug in Hemiola itself."""


class FailedRankError(HemiolaError, RuntimeError):
    """The function of a launched rank raised, or its process died; `rank` says which."""

    def __init__(self, message: str, rank: int = -1) -> None:
        super().__init__(message)
        self.rank = rank
