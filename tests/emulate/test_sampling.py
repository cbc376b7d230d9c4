#!/usr/bin/env python3
"""Samples of recount emulate --exact against registers of the program. Arguments: recount, the programs of sampled.c and counted.c."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RECOUNT, SAMPLED, COUNTED = sys.argv[1:4]


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


first = emulate("true")
if first.returncode:
    print("SKIP:", first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
