# SPDX-License-Identifier: Apache-2.0
"""Schedules in files of other programs, judged by each file's own run: MSCCL's XML, TE-CCL's and TACOS's outputs, and
MSCCL++'s plans."""

from hemiola.interchange.artefact import Artefact, Fault
from hemiola.interchange.files import load, read

__all__ = ["Artefact", "Fault", "load", "read"]
