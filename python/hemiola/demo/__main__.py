# SPDX-License-Identifier: Apache-2.0
"""`python -m hemiola.demo` is `make demo`."""

import sys

from hemiola.demo.show import main

sys.exit(main())
