# SPDX-License-Identifier: Apache-2.0
"""Examines this machine for a run: `examine` looks at everything in the order in which a run needs it. `truth` compares
predictions with measurements here, over `settings`."""

from hemiola.doctor.probes import Finding, examine

__all__ = ["Finding", "examine"]
