# SPDX-License-Identifier: Apache-2.0
"""All-reduces by messages of eight bits an element, with error feedback, where links are slower than the codec."""

from hemiola.quantization.quantizer import Quantizer

__all__ = ["Quantizer"]
