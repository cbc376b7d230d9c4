# Copyright (c) 2026, the recount authors
#
# SPDX-License-Identifier: BSD-3-Clause

from spack.package import *


class Recount(MesonPackage):
    """Counts hardware events through perf_event and through PAPI, compares both counts with a
    model of the measured code, and plots the results."""

    # Built from a checkout or an unpacked release: `spack dev-build --source-path FOLDER recount@main`.
    homepage = "https://example.org/recount"
    git = "https://example.org/recount.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("symbols", default=True, description="Names and lines of what is profiled")
    variant("native", default=True, description="Vectorised kernels for the CPU of the build")

    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("binutils", type="build")
    depends_on("papi@7:")
    depends_on("libpfm4@4.13:")
    depends_on("hwloc@2:")
    depends_on("zlib-api")
    depends_on("fmt@9:")
    depends_on("cli11@2.3:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("range-v3@0.12:", type="build")
    depends_on("boost+test", type="build")
    depends_on("elfutils", when="+symbols")
    depends_on("capstone@4:", when="+symbols")
    depends_on("binutils+libiberty", when="+symbols")

    conflicts("%gcc@:11", msg="recount needs g++ 12 or newer")
    conflicts("%clang@:15", msg="recount needs clang 16 or newer")
    conflicts("platform=darwin", msg="perf_event is of Linux")

    def meson_args(self):
        def enabled(option, variant):
            return f"-D{option}={'true' if f'+{variant}' in self.spec else 'false'}"

        return [
            # Spack has no gnuplot-iostream, which draws the figures.
            "-Dfigures=false",
            # Programs under the model were not tried with the Valgrind of Spack.
            "-Dtrace=disabled",
            "-Dunity=on",
            "-Dunity_size=12",
            enabled("symbols", "symbols"),
            enabled("native", "native"),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.recount)("--version")
