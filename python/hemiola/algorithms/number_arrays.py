# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers, as generators and planner pass them on."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
