# SPDX-License-Identifier: Apache-2.0
"""A package for Spack, which begins with `spack repo create`. Untried: there is no Spack here."""

from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyHemiola(PythonPackage):
    """Collective communication for clusters that don't keep time."""

    license("Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND MIT")

    version("0.1.0")  # a release has the digest of its source archive

    variant("pictures", default=False, description="Draw schedules, plans and times")
    variant("networkx", default=False, description="Topologies from and to NetworkX")

    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@1.1:", type="build")
    depends_on("py-nanobind@3.1:", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja@1.11:", type="build")

    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-ml-dtypes@0.4:", type=("build", "run"))
    depends_on("py-highspy@1.12:", type=("build", "run"))
    depends_on("py-rustworkx@0.15:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-typer@0.15:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-psutil@5.9:", type=("build", "run"))
    depends_on("py-cloudpickle@3:", type=("build", "run"))
    depends_on("py-matplotlib@3.8:", type=("build", "run"), when="+pictures")
    depends_on("py-networkx@3.2:", type=("build", "run"), when="+networkx")
