# SPDX-License-Identifier: Apache-2.0
"""Evaluates the formulas of docs/reference/algorithms.md, which defines the symbols, exactly: in rational numbers."""

import re
from fractions import Fraction


def _symbols(n: int, chunk_count: int) -> dict[str, object]:
    p = 1 << (n.bit_length() - 1)
    f = n - p
    return {
        "n": Fraction(n),
        "K": Fraction(chunk_count),
        "p": Fraction(p),
        "f": Fraction(f),
        "S": Fraction(sum(min(1 << k, f) for k in range(p.bit_length() - 1))),
        "B": Fraction(sum(i.bit_count() for i in range(n))),
        "ceil_log_n": (n - 1).bit_length(),
        "log_p": p.bit_length() - 1,
        "max": max,
        "min": min,
    }


def _python(formula: str) -> str:
    text = formula.replace("⌈log2 n⌉", "(ceil_log_n)").replace("log2 p", "(log_p)")
    text = re.sub(r"(?<=[\w)])\[", "*[", text)
    text = re.sub(r"\[([^]]*)\]", r"(1 if \1 else 0)", text)
    text = text.replace("·", "*").replace("^", "**").replace("α", "alpha").replace("β", "beta")
    text = re.sub(r"([0-9)])\(", r"\1*(", text)  # 2(n-1)
    return re.sub(r"([0-9])([A-Za-z])", r"\1*\2", text)  # 2n


def evaluate(formula: str, n: int, chunk_count: int = 0, **values: Fraction) -> Fraction:
    """Evaluate a formula for n >= 2 ranks; `values` gives N, alpha and beta where it has them."""
    return Fraction(eval(_python(formula), {"__builtins__": {}}, {**_symbols(n, chunk_count), **values}))
