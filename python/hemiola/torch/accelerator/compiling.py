# SPDX-License-Identifier: Apache-2.0
"""Compiling the accelerator: once per host, under a lock, into a folder of the user's or into a wheel."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from hemiola.errors import ArgumentError

#: As `import` knows it.
MODULE = "hemiola_torch_accelerator"
_HERE = Path(__file__).parent
_SOURCES = (_HERE / "accelerator.cpp", _HERE / "operation_table.h")
FOLDER_IN_CACHE = Path("hemiola") / "torch"
#: Where wheels keep the file that was compiled when they were built.
PREBUILT = _HERE / "prebuilt"
_LONGEST_SHOWN = 4000


def cache_folder() -> Path:
    """Return the folder of this user's compiled files: in XDG_CACHE_HOME, or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / FOLDER_IN_CACHE


def file_name() -> str:
    """Return the name of the file for this PyTorch, Python and source; another of any has another name."""
    parts = [
        torch.__version__,
        sysconfig.get_config_var("SOABI") or "",
        *(path.read_text() for path in _SOURCES),
    ]
    return f"{MODULE}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}.so"


def compiled_file() -> Path | None:
    """Return the file that fits this PyTorch, of the user's or of the wheel; None where there is none."""
    name = file_name()
    return next((path for folder in (cache_folder(), PREBUILT) if (path := folder / name).is_file()), None)


def compile_for_torch(folder: Path | None = None) -> Path:
    """Compile the accelerator for the PyTorch that is installed; takes half a minute or more.

    Of several processes that ask for it at once, one compiles, and the others wait for it. Ctrl-C leaves nothing.

    Parameters
    ----------
    folder : where to put it; None means the user's folder, where groups find it.

    Returns
    -------
    Path of the file.

    Raises
    ------
    ArgumentError where there is no C++ compiler, or it fails, with its output. OSError
        where the folder cannot be written.
    """
    into = cache_folder() if folder is None else folder
    into.mkdir(parents=True, exist_ok=True)
    path = into / file_name()
    with _locked(into / f"{path.name}.lock"):
        if not path.is_file():
            with tempfile.TemporaryDirectory(dir=into) as apart:
                made = Path(apart) / path.name
                _run_compiler(made)
                made.replace(path)
    return path


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which goes with the process, however that ends."""
    held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _run_compiler(made: Path) -> None:
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    if shutil.which(compiler[0]) is None:
        raise ArgumentError(
            f"the accelerator needs a C++17 compiler, and there is no '{compiler[0]}': install one (on Debian or "
            f"Ubuntu: apt-get install g++), or say in CXX where it is"
        )
    from torch.utils import cpp_extension  # looks for a CUDA toolkit, and warns where there is none

    folders = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    command = [
        *compiler,
        *("-shared", "-fPIC", "-O2", f"-std={_STANDARD}", "-fvisibility=hidden"),
        f"-DTORCH_EXTENSION_NAME={MODULE}",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        *_pybind_definitions(),
        *(word for folder in folders for word in ("-isystem", str(folder))),
        str(_SOURCES[0]),
        *("-o", str(made)),
        *(f"-L{folder}" for folder in cpp_extension.library_paths()),
        *("-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"),
    ]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ran.returncode != 0:
        raise ArgumentError(
            f"the accelerator could not be compiled for PyTorch {torch.__version__}: '{compiler[0]}' ended with "
            f"{ran.returncode}:\n{ran.stdout[-_LONGEST_SHOWN:]}"
        )


#: The compiler options that PyTorch's own headers need.
_STANDARD = "c++20" if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 12) else "c++17"


def _pybind_definitions() -> list[str]:
    """Return what older versions of PyTorch say of the compiler that they were made with; newer ones need nothing."""
    names = ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
    found = {name: getattr(torch._C, f"_PYBIND11_{name}", None) for name in names}
    return [f'-DPYBIND11_{name}="{value}"' for name, value in found.items() if value is not None]
