# SPDX-License-Identifier: Apache-2.0
"""A communicator on the workers of a Dask cluster: docs/how-to/dask.md."""

from hemiola.environment.packages import require

require("distributed")

from hemiola.dask.plugin import CommunicatorPlugin, communicator, run

__all__ = ["CommunicatorPlugin", "communicator", "run"]
