# SPDX-License-Identifier: Apache-2.0
"""Readers of traces and of other simulators' workloads: one file for each form. All read large files piece by piece."""
