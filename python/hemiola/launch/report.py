# SPDX-License-Identifier: Apache-2.0
"""How a launched rank reports to its launcher: the number of bytes, then as many, a pickled pair of kind and value."""

import struct

REPORT_LENGTH = struct.Struct("<Q")
