"""What this machine offers to a run: `examine` looks at everything in the order in which a run needs it; `truth` holds
predictions against what is measured here, over `settings`."""

from hemiola.doctor.probes import Finding, examine

__all__ = ["Finding", "examine"]
