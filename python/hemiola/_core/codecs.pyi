# SPDX-License-Identifier: Apache-2.0
"""See hemiola.codecs."""

def names() -> list[str]:
    """See hemiola.codecs.names."""

def encode(x: object, format: str | None) -> bytes:
    """See hemiola.codecs.encode."""

def decode(encoded: object, out: object) -> None:
    """See hemiola.codecs.decode."""

def speeds(density: float, format: str | None) -> tuple[float, float, float]:
    """See hemiola.codecs.speeds."""

def choose(format: str | None) -> str | None:
    """See hemiola.codecs.choose."""

def eight_bit_speeds() -> tuple[float, float, float]:
    """See hemiola.quantization.choice."""

def describe(encoded: object) -> tuple[str, str, int, int, int]:
    """See hemiola.codecs.describe."""
