# SPDX-License-Identifier: Apache-2.0
"""How a process joins its job."""

from __future__ import annotations

import os

from hemiola import environment
from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.communicator.communicator import Communicator
from hemiola.communicator.emulation import Emulation, launched_emulation
from hemiola.communicator.init_options import InitOptions
from hemiola.communicator.joining import join
from hemiola.communicator.launch_environment import job_of
from hemiola.communicator.log import begin_logging
from hemiola.communicator.mpi import announce
from hemiola.communicator.open_communicators import is_open
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.machine.standard_descriptors import hold_standard_descriptors

#: The communicator of all ranks, once there is one, and its options.
_world: list[tuple[Communicator, InitOptions]] = []


@typed
def init(
    *,
    timeout_s: float | None = None,
    keep_inputs: bool | None = None,
    topology: Topology | str | os.PathLike[str] | None = None,
    adapt: str | None = None,
    emulate: Topology | str | os.PathLike[str] | None = None,
    conditions: Conditions | None = None,
) -> Communicator:
    """Join the other ranks of this job and return the communicator of all of them.

    Which job this is, and which rank, is read from the variables of hemiola.launch, torchrun, Open MPI's or
    MPICH's mpirun, or Slurm's srun. Ranks may be on several hosts (docs/how-to/several-hosts.md). All pass the same
    options.

    Parameters
    ----------
    timeout_s : float, seconds > 0; None means HEMIOLA_TIMEOUT, or 300. How long to wait for the others, here and in
        each operation.
    keep_inputs : bool; None means True. Whether a failure in the middle of an operation in place leaves its input as it
        was. It costs a private copy of each overwritten buffer; with False a failed operation's buffer is undefined.
    topology : Topology or the path of its file, optional. The network that there is, such as `hemiola calibrate` has
        measured it, for which collectives are planned; None measures at start-up. The same on all ranks.
    adapt : str, the conditions that collectives adapt to once ranks have noticed them: "late", "slow", "late,slow" or
        "none". None means HEMIOLA_ADAPT, or both. See `Communicator.expects_late_rank` and `health`.
    emulate : Topology or the path of its file, optional. A network to behave like: ports and links carry
        real bytes at its latencies and bandwidths, as far as this machine can move that many. The same on all
        ranks; hemiola.launch can set it.
    conditions : Conditions, optional, of the emulated network: slow ranks' ports are slower, and late ranks
        come to every operation that much later.

    Returns
    -------
    Communicator; the same one when called again, as long as it is open, or the one that `Communicator.shrink` has
    returned since.

    Raises
    ------
    ArgumentError when a variable of the environment, or `adapt`, is misspelt or cannot be read. When this process
    belongs to no known job, or to one on several hosts which have no way to meet, or was forked from a rank. When the
    topology or the emulated network has another number of ranks than the job, or both are given. When called again with
    other options than those in force. FormatError, OSError
        for a file that cannot be read.
    MismatchError
        on every rank, when one passes other options than rank 0.
    TimeoutError
        naming the ranks that did not come.
    """
    environment.check()
    hold_standard_descriptors()
    begin_logging(environment.LOG.value())
    options = _options_of(timeout_s, keep_inputs, topology, adapt, emulate, conditions)
    for communicator, in_force in _world:
        while communicator.successor is not None:
            communicator = communicator.successor
        if is_open(communicator):
            said = {
                "timeout_s": timeout_s,
                "keep_inputs": keep_inputs,
                "topology": topology,
                "adapt": adapt,
                "emulate": emulate,
                "conditions": emulate,
            }
            words = options.words()
            in_force.check_again({name: words[name] for name, value in said.items() if value is not None})
            return communicator
    job = job_of()
    announce(job)
    if options.emulation is not None:
        if job.spans_hosts:
            raise ArgumentError(
                "emulate: the ranks of one host can behave like a network; these are on several, which have one"
            )
        options.emulation.check(job.rank_count)
        if options.wires not in ("auto", "shm"):
            raise ArgumentError(
                f"emulate: a network is emulated in shared memory, and {environment.WIRE.name} asks for {options.wires}"
            )
    session = join(job, options.timeout_s)
    options.agree(session)  # before anybody complains, so that all ranks know
    options.check_topology(job.rank_count)
    world = Communicator(session, range(job.rank_count), options, is_job=True)
    became_member(world, options)
    return world


def became_member(world: Communicator, options: InitOptions) -> None:
    """Note the communicator of all ranks, which `init` returns from now on."""
    _world[:] = [(world, options)]


def _options_of(
    timeout_s: float | None,
    keep_inputs: bool | None,
    topology: Topology | str | os.PathLike[str] | None,
    adapt: str | None,
    emulate: Topology | str | os.PathLike[str] | None,
    conditions: Conditions | None,
) -> InitOptions:
    """Check what was asked for, and fill in what was not."""
    is_said = emulate is not None or conditions is not None
    emulation = Emulation.of(emulate, conditions) if is_said else launched_emulation()
    if topology is not None and emulation is not None:
        raise ArgumentError(
            "topology: an emulated network is known already; pass either topology or emulate, not both"
        )
    return InitOptions.of(timeout_s, keep_inputs, topology, adapt, emulation)
