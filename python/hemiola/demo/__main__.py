"""`python -m hemiola.demo` is `make demo`."""

import sys

from hemiola.demo.show import main

sys.exit(main())
