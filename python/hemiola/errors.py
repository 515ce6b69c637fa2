# SPDX-License-Identifier: Apache-2.0
"""The exceptions Hemiola raises. Each is also the builtin a caller would expect.

They are values: equal where class, message and attributes are, and pickled with their attributes and their cause."""

import builtins
import pickle
from dataclasses import dataclass

#: The reason of a rank that ended without an exception that it could see: SystemExit is none.
PROGRAM_ENDED = "has come to the end of its program"


@dataclass(frozen=True)
class Cause:
    """The first failure that is known. Every rank that it stops gets the same.

    Parameters
    ----------
    rank : int, who is to blame, by its number in the job.
    reason : str, its action: "has died", "did not come within 2 s".
    at_s : float, when this was noticed, in seconds on the job's clock.
    """

    rank: int
    reason: str
    at_s: float


class HemiolaError(Exception):
    """Base of everything Hemiola raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        attributes = dict(self.__dict__)
        if self.__cause__ is not None:
            attributes["__cause__"] = _travelling(self.__cause__)
        return type(self), self.args, attributes

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.args, self.__dict__) == (other.args, other.__dict__)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


def _travelling(cause: BaseException) -> BaseException:
    """Return a cause as it can be pickled: where it cannot, its text."""
    try:
        pickle.loads(pickle.dumps(cause))
    except Exception:  # another library's exception may raise anything here
        return HemiolaError(f"{type(cause).__name__}: {cause}")
    return cause


class ArgumentError(HemiolaError, ValueError):
    """An argument is outside its legal range."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of the wrong type; the message names it, the expected and the found."""


class NotExecutableError(ArgumentError):
    """What was to run is for comparison only: a collective that a switch does and ranks cannot."""


class FormatError(HemiolaError, ValueError):
    """A file, a text or another rank's message is malformed; the error names the line, the offset or the rank.

    `cause` names the rank that has sent the message. It is None for a file or a text.
    """

    cause: Cause | None = None


class TopologyWarning(UserWarning):
    """A topology file has an impossible figure; the message names line, figure, and replacement."""


class MismatchError(HemiolaError, ValueError, RuntimeError):
    """Ranks disagree about an operation: size, dtype, op, order or schedule.

    A RuntimeError, too, because PyTorch's scripts expect one of a collective. `cause` names the rank that differs
    from this one, where that is known."""

    cause: Cause | None = None


class LostRankError(HemiolaError, RuntimeError):
    """A rank died while others needed it. docs/how-to/failures.md says how the others can go on.

    Parameters
    ----------
    message : str.
    rank : int or None, the rank that is lost, by its number in the communicator that lost it; None where nobody
        can say.
    world_rank : int or None, the same rank by its number in the job.

    Notes
    -----
    `cause` names the rank to blame, the reason, and the time; None where nobody can say."""

    cause: Cause | None = None

    def __init__(self, message: str = "", rank: int | None = None, world_rank: int | None = None) -> None:
        super().__init__(message)
        self.rank = rank
        self.world_rank = world_rank


class MinorityError(LostRankError):
    """This rank is not on the side of a cut job that may go on: the others may have gone on without it.

    `Communicator.shrink` raises it when its time is over, or at once on a rank that the others have given up. The
    process has to end; docs/how-to/failures.md says which side goes on.

    Parameters
    ----------
    message, rank, world_rank : as of LostRankError.
    """


class TimeoutError(HemiolaError, builtins.TimeoutError):
    """A rank did not arrive in time. `cause` names the first such rank; None where nobody can say."""

    cause: Cause | None = None


class EncryptionError(HemiolaError, ConnectionError):
    """A peer does not encrypt as this rank does, or one does not accept the other's certificate; the message names the
    peer, what was expected and found, and the remedy. docs/how-to/tls.md explains HEMIOLA_TLS."""


class ClusterError(HemiolaError, RuntimeError):
    """A cluster on this machine could not be made or changed, or a command on it failed."""


class MissingPackageError(HemiolaError, ModuleNotFoundError):
    """A package that only some parts of Hemiola need is not installed; the message names the extra that brings it."""


class ResourceError(HemiolaError, RuntimeError):
    """The system refuses a resource of the job; the message names the limit and the way to lift it."""


class BudgetSpentError(HemiolaError, RuntimeError):
    """The operations that a piece of planning may take are used up. `hemiola.plan` answers it itself."""


class InternalError(HemiolaError, RuntimeError):
    """A bug in Hemiola itself."""


class FailedRankError(HemiolaError, RuntimeError):
    """The function of a launched rank raised, or its process died.

    Parameters
    ----------
    message : str.
    rank : int, the rank that failed; -1 where nobody can say.
    """

    def __init__(self, message: str, rank: int = -1) -> None:
        super().__init__(message)
        self.rank = rank
