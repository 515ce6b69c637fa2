# SPDX-License-Identifier: Apache-2.0
"""The time of collectives on real ranks, and whether their results are right.

A `trial` repeats one operation on the data of a `pattern` and checks every result; a `contest` lets algorithms run
against each other, a `sweep` runs one over sizes. The command line's `run` and `bench` are made of these."""
