"""What slows a job down, and what helps: a judgement on evidence that somebody else has gathered.

`judge` takes Evidence and returns a Diagnosis, the same on whoever has the same evidence. Nothing here measures
anything, starts anybody or knows a communicator: `hemiola.communicator` gathers what a job's ranks have seen."""

from hemiola.diagnosis.diagnosis import Cause, Diagnosis, Finding
from hemiola.diagnosis.evidence import Evidence, Way
from hemiola.diagnosis.judge import judge

__all__ = ["Cause", "Diagnosis", "Evidence", "Finding", "Way", "judge"]
