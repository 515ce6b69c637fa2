# SPDX-License-Identifier: Apache-2.0
"""Messages of operations, real or simulated, with their times: how ranks tell them, and traces of them."""
