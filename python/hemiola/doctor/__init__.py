"""What this machine offers to a run: `examine` looks at everything in the order in which a run needs it."""

from hemiola.doctor.probes import Finding, examine

__all__ = ["Finding", "examine"]
