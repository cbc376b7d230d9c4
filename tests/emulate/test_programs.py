#!/usr/bin/env python3
"""Counts of recount emulate --exact for programs of several languages against lackey and cachegrind: test_programs.py RECOUNT [--all]

What differs between two sizes of the input is compared: the start, in which the preload library is linked, cancels out. Without --all, a
C++ program and sqlite3; README.md has the results of all.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RECOUNT, ALL = sys.argv[1], "--all" in sys.argv[2:]
NAMES = ("instructions", "conditional branches", "loads", "stores", "D1 misses")
EVENTS = "cpu/config=0xc0/u,cpu/config=0x1c4/u,cpu/config=0x81d0/u,cpu/config=0x82d0/u,cpu/config=0x151/u"
# As in recount emulate, blocks end at branches: else Valgrind joins the conditions of `a && b`.
EXACT = ("--vex-guest-chase=no", "--vex-iropt-unroll-thresh=0")
# Of repeated string instructions, lackey counts each element as an instruction with a branch.
ENVIRONMENT = dict(os.environ, PYTHONHASHSEED="0", GLIBC_TUNABLES="glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000")
ENVIRONMENT.pop("MALLOC_PERTURB_", None)  # filling what is allocated is a loop of its own, in which lackey counts side exits

# No function whose way through the code depends on the alignment of data, as memmove() does.
CPP = r"""
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
int main(int, char** arguments) {
  const unsigned n = static_cast<unsigned>(std::stoul(arguments[1]));
  std::map<unsigned, std::string> words;
  std::vector<double> values;
  values.reserve(n);
  unsigned state = 1;
  for (unsigned i = 0; i < n; i++) {
    state = state * 1664525U + 1013904223U;
    words[state >> 24] = "word" + std::to_string(state >> 24);
    values.push_back(state / 3.0);
  }
  std::make_heap(values.begin(), values.end());
  std::sort_heap(values.begin(), values.end());
  std::cout << words.size() << ' ' << values[n / 2] << '\n';
}
"""
FORTRAN = """
program solve
  implicit none
  integer :: n, sweep, i, j
  character(len=16) :: argument
  real(8), allocatable :: grid(:, :)
  call get_command_argument(1, argument)
  read (argument, *) n
  allocate (grid(n, n))
  grid = 0
  grid(1, :) = 1
  do sweep = 1, 20
    do j = 2, n - 1
      do i = 2, n - 1
        grid(i, j) = 0.25d0 * (grid(i - 1, j) + grid(i + 1, j) + grid(i, j - 1) + grid(i, j + 1))
      end do
    end do
  end do
  print '(f12.6)', sum(grid)
end program
"""
SQL = ("with recursive c(x) as (select 1 union all select x + 1 from c where x < {}) "
       "select sum(x * x % 7), count(distinct x % 97) from c;")


def run(*command):
    return subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT, timeout=250).stderr.decode(errors="replace")


def numbers(*texts):
    return [int(text.replace(",", "")) for text in texts]


def emulated(*command):
    lines = run(RECOUNT, "emulate", "--exact", "-q", "skl", "--", "perf", "stat", "-x,", "-e", EVENTS, *command).splitlines()
    fields = [line.split(",") for line in lines if line[:1].isdigit()]
    assert len(fields) == len(NAMES) and all(field[4] == "100.00" for field in fields), lines
    return [int(field[0]) for field in fields]


def lackey(*command):
    text = run("valgrind", "--tool=lackey", *EXACT, "--basic-counts=yes", "--detailed-counts=yes", *command)
    first = numbers(re.search(r"guest instrs:\s+([\d,]+)", text)[1], re.search(r"total:\s+([\d,]+)", text)[1])
    accesses = [numbers(*row) for row in re.findall(r"==\s+[IFDV]\d+\s+([\d,]+)\s+([\d,]+)\s+[\d,]+", text)]
    return first + [sum(column) for column in zip(*accesses)]


def cachegrind(*command):
    """Conditional branches, beside which lackey counts other side exits of Valgrind's blocks, and D1 misses."""
    text = run("valgrind", "--tool=cachegrind", *EXACT, "--cache-sim=yes", "--branch-sim=yes", "--D1=32768,8,64", "--LL=8388608,16,64",
               "--cachegrind-out-file=/dev/null", *command)
    return numbers(re.search(r"\(\s*([\d,]+) cond", text)[1], re.search(r"D1\s+misses:\s+([\d,]+)", text)[1])


def growth(tool, commands):
    small, large = (tool(*map(str, command)) for command in commands)
    return [after - before for before, after in zip(small, large)]


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def same(self, commands, tolerance, misses=None):
        counted, reference = growth(emulated, commands), growth(lackey, commands)
        reference[1], *more = growth(cachegrind, commands)
        if misses is not None:
            reference += more
        print(self.id(), *(f"{name} {a} {b}" for name, a, b in zip(NAMES, counted, reference)), sep="\n  ", file=sys.stderr)
        for name, ours, theirs in zip(NAMES, counted, reference):
            bound = misses if name == "D1 misses" else tolerance
            self.assertLessEqual(abs(ours - theirs), bound * theirs, f"{name}: {ours}, not {theirs}")

    def compiled(self, compiler, suffix, text, *sizes):
        if not shutil.which(compiler):
            self.skipTest(f"{compiler} is not installed")
        source, program = self.folder / f"program{suffix}", self.folder / "program"
        source.write_text(text)
        subprocess.run([compiler, "-O2", "-o", program, source], check=True)
        return [(program, size) for size in sizes]

    def test_start(self):
        """Of what a program executes, the start is its own and the dynamic linker's, not the preload library's."""
        for name, ours, theirs in zip(NAMES[:1], emulated("true"), lackey("true")):
            self.assertLess(ours - theirs, 200_000, name)

    def test_cpp(self):
        self.same(self.compiled("g++", ".cpp", CPP, 2000, 8000), 3e-4)

    @unittest.skipUnless(shutil.which("sqlite3"), "sqlite3 is not installed")
    def test_sqlite3(self):
        self.same([("sqlite3", ":memory:", SQL.format(rows)) for rows in (1000, 4000)], 1e-5)

    @unittest.skipUnless(ALL, "only with --all")
    def test_fortran(self):
        self.same(self.compiled("gfortran", ".f90", FORTRAN, 100, 200), 1e-4, misses=0.006)

    @unittest.skipUnless(ALL, "only with --all")
    def test_python(self):
        # Collisions in its dictionaries of types depend on addresses.
        program = "print(sum(i * i % 7 for i in range({})))"
        self.same([("/usr/bin/python3", "-ISc", program.format(n)) for n in (20000, 60000)], 5e-3)

    @unittest.skipUnless(ALL and shutil.which("xz"), "only with --all, and xz")
    def test_xz(self):
        files = [self.folder / name for name in ("small", "large")]
        text = b"".join(b"%d " % (i * i) for i in range(40000))
        for file, size in zip(files, (50000, 150000)):
            file.write_bytes(text[:size])
        self.same([("xz", "-0", "-kc", file) for file in files], 5e-3, misses=0.006)


if not (shutil.which("perf") and shutil.which("valgrind")):
    print("SKIP: perf or valgrind is not installed")
    sys.exit(77)
if run(RECOUNT, "emulate", "--exact", "-q", "skl", "--", "true"):
    print("SKIP: recount emulate --exact does not run here")
    sys.exit(77)
unittest.main(argv=sys.argv[:1] + [word for word in sys.argv[2:] if word != "--all"])
