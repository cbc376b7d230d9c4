#!/usr/bin/env python3
"""Counts of recount emulate --exact against arithmetic and cachegrind. Arguments: recount, the program of counted.c."""
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

RECOUNT, COUNTED = sys.argv[1:3]
INSTRUCTIONS, LOADS, STORES, CONDITIONAL, TAKEN, SCALAR_DOUBLE = "0xc0", "0x81d0", "0x82d0", "0x1c4", "0x20c4", "0x1c7"
# What a turn of counted.c executes.
TURN = {INSTRUCTIONS: 6, LOADS: 2, STORES: 1, CONDITIONAL: 1, SCALAR_DOUBLE: 2}
FEW = 100000  # turns; twice as many have as many digits
CALLS = 4000  # instructions of system calls about events, and of the dynamic linker that finds them, at most


def emulate(*command, options=("-q",), machine="skl"):
    return subprocess.run([RECOUNT, "emulate", "--exact", *options, machine, "--", *command], capture_output=True, text=True,
                          check=False, timeout=250)


def counted(event, turns, *how):
    answer = emulate(COUNTED, event, str(turns), *how)
    if answer.returncode:
        raise AssertionError(f"status {answer.returncode}: {answer.stderr}")
    return int(answer.stdout)


class Exact(unittest.TestCase):
    def test_every_turn_is_counted(self):
        for event, each in TURN.items():
            with self.subTest(event=event):
                few, many = counted(event, FEW), counted(event, 2 * FEW)
                self.assertEqual(many - few, FEW * each)
                self.assertLess(few - FEW * each, CALLS)

    def test_children_and_threads_are_inherited(self):
        for how in ("fork", "thread", "crash"):
            with self.subTest(how=how):
                self.assertEqual(counted(SCALAR_DOUBLE, 50000, how), 100000)

    def test_cachegrind_counts_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            def references(turns):
                answer = subprocess.run(["valgrind", "--tool=cachegrind", "--branch-sim=yes", f"--cachegrind-out-file={folder}/out",
                                         COUNTED, "-", str(turns)], capture_output=True, text=True, check=False).stderr
                values = re.search(r"I\s+refs:\s+([\d,]+).*?D\s+refs:.*?\(([\d,]+) rd\s+\+\s*([\d,]+) wr\).*?"
                                   r"Branches:.*?\(([\d,]+) cond", answer, re.S)
                return [int(value.replace(",", "")) for value in values.groups()]
            few, many = references(FEW), references(2 * FEW)
        for event, before, after in zip((INSTRUCTIONS, LOADS, STORES, CONDITIONAL), few, many):
            self.assertEqual(counted(event, 2 * FEW) - counted(event, FEW), after - before)

    def test_status_streams_and_signals_are_the_programs(self):
        answer = subprocess.run([RECOUNT, "emulate", "--exact", "-q", "skl", "--", "sh", "-c", "cat; exit 3"], input="in\n",
                                capture_output=True, text=True, check=False, timeout=250)
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (3, "in\n", ""))
        self.assertEqual(emulate("sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_first_line_says_that_counts_are_emulated(self):
        self.assertIn("counts are emulated: skl", emulate("true", options=()).stderr.splitlines()[0])

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_perf_stat(self):
        def user(turns):
            answer = emulate("perf", "stat", "-x,", "-e", "instructions:u,r01c7:u", COUNTED, INSTRUCTIONS, str(turns))
            return [int(line.split(",")[0]) for line in answer.stderr.splitlines() if line[:1].isdigit()]
        few, many = user(FEW), user(2 * FEW)
        # The dynamic linker's instructions depend on addresses, too.
        self.assertAlmostEqual(many[0] - few[0], 6 * FEW, delta=CALLS)
        self.assertEqual(many[1] - few[1], 2 * FEW)


first = emulate("true")
if first.returncode:
    print("SKIP:", first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
