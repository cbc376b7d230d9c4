#!/usr/bin/env python3
"""What an emulation costs, and the commands of recount in one: runs, memory, caches by counters. Arguments: recount, machines
whose caches are looked for (default: skl)."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

RECOUNT = os.path.abspath(sys.argv[1])
MACHINES = sys.argv[2:] or ["skl"]
MACHINE_FILES = pathlib.Path(RECOUNT).resolve().parent / "../emulate/machines"
ENVIRONMENT = dict(os.environ, COLUMNS="400")
# Prints the largest resident set of the process that the tool reports to: the server.
PEAK = r"""
i=0; while [ $i -lt %d ]; do %s; i=$((i + 1)); done
tr '\0' '\n' < /proc/self/environ > /dev/null
p=$PPID; while [ "$(tr '\0' ' ' < /proc/$p/cmdline | grep -c ' emulate ')" = 0 ]; do p=$(awk '/^PPid/ {print $2}' /proc/$p/status); done
awk '/^VmHWM/ {print $2}' /proc/$p/status
"""


def emulate(machine, *words, **how):
    return subprocess.run([RECOUNT, "emulate", "--exact", "-q", machine, "--", *map(str, words)], capture_output=True, text=True,
                          check=False, env=ENVIRONMENT, timeout=500, **how)


def recount(machine, *words):
    return emulate(machine, RECOUNT, *words)


class Memory(unittest.TestCase):
    def peak_kib(self, times, command):
        answer = emulate("skl", "sh", "-c", PEAK % (times, command))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return int(answer.stdout)

    def test_is_constant_in_the_number_of_ended_processes(self):
        for command, few, many in (("/bin/true", 6, 24), ("(:)", 10, 40)):
            with self.subTest(command=command):
                self.assertLess(self.peak_kib(many, command), 1.25 * self.peak_kib(few, command))


class Runs(unittest.TestCase):
    def test_one_run_per_point_unless_more_are_requested(self):
        sweep = "sweep", "stride", "--size", "4K,8K", "--stride", "64", "--witness", "perf,papi", "--metric", "PAPI_L1_DCM"
        planned = recount("skl", *sweep, "-n").stderr
        self.assertIn("4 runs, one per point: emulated counts are equal in each run", planned)
        self.assertIn(" 12 runs, ", recount("skl", *sweep, "-n", "-r", 3).stderr)
        noisy = subprocess.run([RECOUNT, "emulate", "--exact", "-q", "--noise", "0.01", "skl", "--", RECOUNT, *sweep, "-n"],
                               capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=100).stderr
        self.assertIn(" 20 runs, ", noisy)

    def test_runs_are_forks_without_disturbances(self):
        answer = recount("skl", "sweep", "stride", "--size", "4K", "--stride", "64", "--witness", "perf,papi,clock", "-r", 2, "--metric",
                         "PAPI_L1_DCM,PAPI_TOT_INS,seconds", "-o", "-")
        lines = [json.loads(line) for line in answer.stdout.splitlines()]
        observed = [line for line in lines if line["type"] == "observation"]
        self.assertEqual(len(observed), 2 * (2 + 2 + 1), answer.stderr)
        self.assertEqual([line for line in observed if any(flag["kind"] == "preempted" for flag in line.get("flags", []))], [])
        self.assertNotIn("hwloc", answer.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
