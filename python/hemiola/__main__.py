# SPDX-License-Identifier: Apache-2.0
"""`python -m hemiola` is `hemiola`."""

import sys

from hemiola.cli import main

sys.exit(main())
