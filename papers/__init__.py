# SPDX-License-Identifier: Apache-2.0
"""The papers' tables and figures again, from this project's own runs and simulations: one file per paper."""

from pathlib import Path

#: The clone, in which programs that sections start find this package.
ROOT = Path(__file__).resolve().parent.parent
