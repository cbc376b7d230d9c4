#!/usr/bin/env python3
"""What an emulation costs, and the commands of recount in one: runs, memory, caches by counters. Arguments: recount, machines
whose caches are looked for (default: skl), -k and a part of the names of tests."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

RECOUNT = os.path.abspath(sys.argv[1])
OPTIONS = sys.argv[sys.argv.index("-k"):] if "-k" in sys.argv else []  # of unittest
MACHINES = sys.argv[2:len(sys.argv) - len(OPTIONS)] or ["skl"]
MACHINE_FILES = pathlib.Path(RECOUNT).resolve().parent / "model/emulate/machines"
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

    def test_each_order_of_two_witnesses_is_executed_once(self):
        answer = recount("skl", "sweep", "stride", "--size", "4K", "--stride", "64", "--witness", "both", "--metric", "PAPI_L1_DCM", "-o", "-")
        observed = [json.loads(line) for line in answer.stdout.splitlines() if '"observation"' in line]
        self.assertEqual([(o["witness"], o["nesting"]) for o in observed],
                         [("perf", "outer"), ("papi", "inner"), ("perf", "inner"), ("papi", "outer")], answer.stderr)

    def test_runs_are_forks_without_disturbances(self):
        answer = recount("skl", "sweep", "stride", "--size", "4K", "--stride", "64", "--witness", "perf,papi,clock", "-r", 2, "--metric",
                         "PAPI_L1_DCM,PAPI_TOT_INS,seconds", "-o", "-")
        lines = [json.loads(line) for line in answer.stdout.splitlines()]
        observed = [line for line in lines if line["type"] == "observation"]
        self.assertEqual(len(observed), 2 * (2 + 2 + 1), answer.stderr)
        self.assertEqual([line for line in observed if any(flag["kind"] == "preempted" for flag in line.get("flags", []))], [])
        self.assertNotIn("hwloc", answer.stderr)


class Heads(unittest.TestCase):
    """Whatever prints a time says that the machine is emulated."""
    COMMANDS = [
        (("stat", "-e", "instructions:u", "--", "/bin/true"), r"(?m)^/bin/true: [0-9.e-]+ s, emulated$"),
        (("watch", "-I", "50", "-e", "instructions:u", "--", "/bin/true"), r"(?m)^watching /bin/true, emulated, every 50 ms$"),
        (("cost", "-r", "1", "-e", "instructions:u", "--at-once", "1"), r"Nanoseconds for 1 event, median of \d+ batches, emulated"),
        (("sweep", "stride", "--size", "4K", "--stride", "64", "--witness", "clock", "-q"), r"^Intel.* \(emulated\)\n"),
    ]

    def test_are_emulated(self):
        for command, head in self.COMMANDS:
            with self.subTest(command=command[0]):
                answer = recount("skl", *command)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertRegex(answer.stdout + answer.stderr, head)

    def test_one_run_each_decides_between_products(self):
        answer = recount("skl", "matmul", "--study", "report", "--n", "24,32", "--block", "8", "--no-java", "--witness", "clock,perf", "-qv")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"Products of doubles: .*\(emulated\)")
        self.assertRegex(answer.stdout, r"Products of doubles\n *loops +n +time \(s\) +GFLOP/s +speed-up by time")
        for reservation in (" ?", "not established", "disturbed"):
            self.assertNotIn(reservation, answer.stdout)


def stated(machine):
    text = (MACHINE_FILES / (machine + ".pmu")).read_text()
    like = re.search(r"(?m)^like (\w+)", text)
    caches = stated(like[1]) if like else {}
    caches |= {name: {"capacity": int(size), "ways": int(ways), "line": int(line)}
               for name, size, ways, line in re.findall(r"(?m)^cache (\S+) (\d+) (\d+) (\d+)", text)}
    return caches | {name: int(entries) for name, entries in re.findall(r"(?m)^tlb (\w+) (\d+)", text)}


def without_time(found):
    return {name: value for name, value in found.items() if name not in ("seconds", "cpu")}


class Caches(unittest.TestCase):
    def find(self, machine, *options):
        answer = recount(machine, "caches", "--json", "-q", *options)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout)

    def check(self, machine, found):
        truth = stated(machine)
        levels = {level["level"]: level for level in found["levels"]}
        self.assertEqual(list(levels), ["L1d", "L2"])
        for name, level in levels.items():
            for what, value in truth[name].items():
                self.assertEqual(level[what].get("value"), value, (machine, name, what, level[what]))
        self.assertEqual([tlb["entries"].get("value") for tlb in found["tlb"]], [truth["data"], truth["second"]], (machine, found["tlb"]))
        self.assertEqual([text.split(":")[0] for text in found["counted_by"]],
                         ["L1d misses", "L2 misses", "L1 DTLB misses", "L2 DTLB misses"], machine)

    def repeated(self, points):
        """(point, what was found by each of its executions: three of the first, if there are several)."""
        again = points[:1] * 2 if len(points) > 1 else []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # one leaves half of a CPU idle
            found = list(pool.map(lambda point: self.find(*point), points + again))
        return [(point, [found[i], *(found[len(points):] if i == 0 else [])]) for i, point in enumerate(points)]

    def test_counters_find_the_caches_that_the_machine_states(self):
        points = [(machine, *options) for machine in MACHINES
                  for options in ([("--cpu", "0"), ("--cpu", "1")] if machine == "adl" else [()])]
        for point, (found, *others) in self.repeated(points):
            with self.subTest(point=point):
                self.check(point[0], found)
                for other in others:
                    self.assertEqual(without_time(other), without_time(found))

    def test_times_find_the_caches_that_the_machine_states_and_nothing_else(self):
        points = [(machine, "--witness", "clock") for machine in MACHINES]
        for (machine, *_), runs in self.repeated(points):
            with self.subTest(machine=machine):
                levels = runs[0]["levels"]
                found = {(level["level"], what): level[what]["value"] for level in levels for what in ("capacity", "line", "ways")
                         if "value" in level[what]}
                self.assertEqual(found, {(name, what): stated(machine)[name][what] for name in ("L1d", "L2")
                                         for what in ("capacity", "line", "ways")})
                for run in runs[1:]:
                    self.assertEqual(levels, run["levels"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + OPTIONS)
