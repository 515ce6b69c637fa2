# SPDX-License-Identifier: Apache-2.0
"""Pages to explore: one self-contained HTML file of a simulated schedule, a training step, or a job's records.

The page is made of page.html, page.css and the scripts beside this file; a page makes no request."""

from hemiola.view.page.page_file import explore

__all__ = ["explore"]
