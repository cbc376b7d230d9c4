#!/usr/bin/env python3
"""Samples of recount emulate --exact against registers of the program. Arguments: recount, the programs of sampled.c, counted.c and
papi_sampled.c."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

RECOUNT, SAMPLED, COUNTED, PAPI_SAMPLED = map(os.path.abspath, sys.argv[1:5])


def emulate(*command, machine="skl", folder=None):
    return subprocess.run([RECOUNT, "emulate", "--exact", "-q", machine, "--", *command], capture_output=True, text=True, errors="replace",
                          check=False, timeout=250, cwd=folder)


def sampled(event, period, samples, **options):
    answer = emulate(SAMPLED, event, str(period), str(samples), **options)
    if answer.returncode:
        raise AssertionError(f"status {answer.returncode}: {answer.stderr}")
    names = ("samples", "intervals", "exact", "in_ring", "least", "greatest")
    return dict(zip(names, map(int, answer.stdout.split())))


class Exact(unittest.TestCase):
    def test_every_interval_has_its_period(self):
        for event, period, samples in (("instructions", 1000, 2500), ("loads", 997, 2000), ("stores", 101, 2500), ("branches", 4099, 1000),
                                       ("instructions", 12345, 2000)):
            with self.subTest(event=event, period=period):
                got = sampled(event, period, samples)
                self.assertGreaterEqual(got["intervals"], samples - 3)
                self.assertEqual((got["exact"], got["least"], got["greatest"]), (got["intervals"], period, period))
                self.assertEqual(got["in_ring"], got["samples"])

    def test_other_machines(self):
        self.assertEqual(sampled("instructions", 1009, 100, machine="zen4")["least"], 1009)

    def test_scalar_additions_follow_from_instructions(self):
        # One in a turn of 7 instructions; the handler has none.
        got = sampled("0x1c7", 500, 200)
        self.assertEqual((got["least"] - 9, got["greatest"] - 9), (3500, 3500))
        self.assertGreater(got["intervals"], 20)

    def test_papi_overflow_and_profil(self):
        period, turns = 10007, 1000000
        answer = emulate(PAPI_SAMPLED, str(period), str(turns))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        overflows, inside, hits, others = map(int, answer.stdout.split())
        least = 3 * turns // period
        for got in (overflows, hits):
            self.assertTrue(least <= got <= least + 1, got)  # of PAPI's own instructions at most one more
        self.assertTrue(inside >= least - 1 and others <= 1, answer.stdout)

    def test_profile_knows_the_modules_and_says_what_it_does_not_know(self):
        period, turns = 1009, 20000  # of 6 instructions
        answer = emulate(RECOUNT, "profile", "-e", f"skl::INST_RETIRED:ANY_P:period={period}", "--by", "module", "--json", "--", COUNTED, "-",
                         str(turns))
        profile = json.loads(answer.stdout)
        samples = {os.path.basename(row["module"]): next(iter(row["events"].values()))["samples"] for row in profile["by_module"]}
        self.assertAlmostEqual(samples["emulate-counted"], 6 * turns / period, delta=3)
        self.assertGreater(samples["[unknown]"], 50)  # what ran before the library that samples
        self.assertTrue(profile["complete"], answer.stderr)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_the_stack_grows_for_a_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = emulate("perf", "record", "-e", "instructions:u", "-c", "997", "-o", "data", "sh", "-c",
                             f"{COUNTED} deep 20000; echo $?", folder=folder)
        self.assertEqual(answer.stdout, "0\n", answer.stderr)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_perf_record_and_report(self):
        period, turns = 1009, 200000  # of 6 instructions
        with tempfile.TemporaryDirectory() as folder:
            answer = emulate("perf", "record", "-e", "instructions:u", "-c", str(period), "-o", "data", COUNTED, "-", str(turns), folder=folder)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            report = subprocess.run(["perf", "report", "--stdio", "-i", "data", "--sort", "comm,dso,symbol"], cwd=folder, capture_output=True,
                                    text=True, check=True).stdout
            script = subprocess.run(["perf", "script", "-i", "data", "-F", "comm,ip,sym"], cwd=folder, capture_output=True, text=True,
                                    check=True).stdout
        self.assertRegex(report, r"(?m)^ +\d+\.\d+%  emulate-counted +emulate-counted +\[\.\] turns")
        samples = [line.split() for line in script.splitlines()]
        turns_of = [words for words in samples if words[-1] == "turns"]
        self.assertEqual({words[0] for words in turns_of}, {"emulate-counted"})
        addresses = [int(words[1], 16) for words in turns_of]
        self.assertAlmostEqual(len(addresses), 6 * turns / period, delta=2)
        # 1009 instructions are 168 turns and one instruction: each sample is at the next one.
        self.assertEqual(len(set(addresses)), 6)
        self.assertEqual([sorted(set(addresses)).index(a) for a in addresses[:7]],
                         [(sorted(set(addresses)).index(addresses[0]) + i) % 6 for i in range(7)])


first = emulate("true")
if first.returncode:
    print("SKIP:", first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
