# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training on real data through Hemiola, as an example to read and as `make demo`."""
