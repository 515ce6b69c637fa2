# SPDX-License-Identifier: Apache-2.0
"""The machine's loan to this process: cores and memory, descriptors. Nothing is imported here, because the command
line's help needs one of the modules and not the other."""
