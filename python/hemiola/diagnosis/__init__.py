# SPDX-License-Identifier: Apache-2.0
"""Judges why a job is slow, and names remedies, from evidence gathered elsewhere.

`judge` takes Evidence and returns a Diagnosis; equal evidence gives the same diagnosis everywhere. Nothing here
measures, starts processes or knows a communicator: `hemiola.communicator` gathers the ranks' observations."""

from hemiola.diagnosis.diagnosis import Cause, Diagnosis, Finding
from hemiola.diagnosis.evidence import Evidence, Way
from hemiola.diagnosis.judge import judge

__all__ = ["Cause", "Diagnosis", "Evidence", "Finding", "Way", "judge"]
