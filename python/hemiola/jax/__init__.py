# SPDX-License-Identifier: Apache-2.0
"""JAX's collectives on CPUs by Hemiola. Import it before jax; programs of several processes stay as they are.

`jax.distributed.initialize` says who the processes are, as always; they meet at JAX's own coordinator. The ways in are
this import, `python -m hemiola.jax program.py`, and `MPITRAMPOLINE_LIB=$(python -m hemiola.jax)` in the environment."""

from hemiola.environment.packages import require

require("jax")

from hemiola.jax import wrapper

wrapper.announce()

from hemiola.jax.answering import begin_answering
from hemiola.jax.narrow_floats import carry_narrow_floats

begin_answering()
carry_narrow_floats()
