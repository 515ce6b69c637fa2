# SPDX-License-Identifier: Apache-2.0
"""Pictures: one file per picture, each from plain numbers to a file; and pages to explore."""
