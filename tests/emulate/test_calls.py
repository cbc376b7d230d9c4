#!/usr/bin/env python3
"""Calls about events under recount emulate --exact against those of Linux. Arguments: recount, the programs of calls.c and counted.c."""
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RECOUNT, CALLS, COUNTED = map(os.path.abspath, sys.argv[1:4])
PERF = shutil.which("perf")


def emulate(*command, machine="skl", folder=None, options=()):
    return subprocess.run([RECOUNT, "emulate", "--exact", "-q", *options, machine, "--", *command], capture_output=True, text=True, errors="replace",
                          check=False, timeout=250, cwd=folder)


class Calls(unittest.TestCase):
    maxDiff = None

    def test_an_emulated_event_answers_as_one_of_linux(self):
        answer = emulate(CALLS, "hardware")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stdout.splitlines(), NATIVE.stdout.splitlines())

    def test_an_event_without_room_is_refused(self):
        self.assertEqual(emulate(CALLS, "all").stdout, f"1024: {os.strerror(errno.EMFILE)}\n")

    def test_counters_are_read_in_user_space(self):
        for options, expected in ((("--rdpmc",), "can: 1\n" + 3 * "between: 1\n"), ((), "can: 0\n")):
            answer = emulate(CALLS, "rdpmc", options=options)
            self.assertEqual((answer.returncode, answer.stdout), (0, expected), answer.stderr)

    @unittest.skipUnless(PERF, "perf is not installed")
    def test_events_of_linux_and_of_the_machine_share_a_ring(self):
        for events in ("page-faults:u,instructions:u", "instructions:u,page-faults:u"):
            with self.subTest(events=events), tempfile.TemporaryDirectory() as folder:
                answer = emulate("perf", "record", "-e", events, "-c", "1009", "-o", "data", COUNTED, "-", "20000", folder=folder)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                script = subprocess.run([PERF, "script", "-i", "data", "-F", "event,ip,sym"], cwd=folder, capture_output=True, text=True,
                                        check=True).stdout
                self.assertAlmostEqual(len(re.findall(r"instructions:u: +[0-9a-f]+ turns", script)), 6 * 20000 / 1009, delta=2)


NATIVE = subprocess.run([CALLS, "software"], capture_output=True, text=True, check=False, timeout=100)
if NATIVE.returncode:
    print("SKIP: perf_event_open(2) of a software event is refused here")
    sys.exit(77)
first = emulate("true")
if first.returncode:
    print("SKIP:", first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
