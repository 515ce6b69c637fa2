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
    Read a bandwidth such as '50 GB/s' or '200 Gbit/s'.

    Parameters
    ----------
    text : str, a number > 0 and a unit: SI or binary prefix, B or bit, per second.

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
    """Write a time with four digits and its unit, such as '3.2 us'."""

def format_bandwidth(bandwidth: float) -> str:
    """
    Write a bandwidth in bytes per second with four digits and its unit, such as '50 GB/s'.
    """

def format_bytes(nbytes: int) -> str:
    """Write a size with its binary unit, such as '64 MiB'."""
