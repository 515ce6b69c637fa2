# SPDX-License-Identifier: Apache-2.0
"""Text with units and plain numbers: seconds, bytes, bytes per second."""

def parse_seconds(text: str) -> float:
    """
    Read a time such as '0.5 us' (s, ms, us, µs, ns, ps).

    Parameters
    ----------
    text : str, a number >= 0 and a unit.

    Returns
    -------
    float, seconds.

    Raises
    ------
    FormatError, naming the text, for anything else.
    """

def parse_bandwidth(text: str) -> float:
    """
    Read a bandwidth such as '50 GB/s', '200 Gbit/s', '100 Gbps' or '400G'.

    Parameters
    ----------
    text : str, a number > 0 and a unit: SI or binary prefix, B for bytes or bit or b for bits, /s or ps. G or T alone is a
        port's, in bits per second.

    Returns
    -------
    float, bytes per second.

    Raises
    ------
    FormatError, naming the text, for anything else.
    """

def parse_bytes(text: str) -> int:
    """
    Read a size such as '64 MiB', '64M' or '4096'.

    Parameters
    ----------
    text : str, a number >= 0 and optionally a unit; a whole number of bytes.

    Returns
    -------
    int, bytes.

    Raises
    ------
    FormatError, naming the text, for anything else.
    """

def format_seconds(seconds: float) -> str:
    """
    Write a time with its unit, such as '3.2 us'.

    Parameters
    ----------
    seconds : float.

    Returns
    -------
    str, four digits at most.
    """

def format_bandwidth(bandwidth: float) -> str:
    """
    Write a bandwidth with its unit, such as '50 GB/s'.

    Parameters
    ----------
    bandwidth : float, bytes per second.

    Returns
    -------
    str, four digits at most.
    """

def format_bytes(nbytes: int) -> str:
    """
    Write a size with its binary unit, such as '64 MiB'.

    Parameters
    ----------
    nbytes : int, bytes.

    Returns
    -------
    str
    """
