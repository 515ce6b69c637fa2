"""Local ranks started from Python: `launch` calls a function in processes of their own and returns what they return.

Outside, `hemiola.launch` is that function; this package is what it is made of. `rank` runs in each process."""

from hemiola.launch.local_ranks import launch

__all__ = ["launch"]
