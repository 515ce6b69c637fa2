# SPDX-License-Identifier: Apache-2.0
"""LightGBM's distributed training on Hemiola: docs/how-to/lightgbm.md."""

from hemiola.environment.packages import require

require("lightgbm")

from hemiola.lightgbm.network import Network, NetworkError

__all__ = ["Network", "NetworkError"]
