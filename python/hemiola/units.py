# SPDX-License-Identifier: Apache-2.0
"""Text with units and plain numbers. The API speaks seconds, bytes and bytes per second. People write '0.5 us'."""

from hemiola._core.units import (
    format_bandwidth,
    format_bytes,
    format_seconds,
    parse_bandwidth,
    parse_bytes,
    parse_seconds,
)

__all__ = [
    "format_bandwidth",
    "format_bytes",
    "format_seconds",
    "parse_bandwidth",
    "parse_bytes",
    "parse_seconds",
]
