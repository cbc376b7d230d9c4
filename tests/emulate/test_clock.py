#!/usr/bin/env python3
"""The one clock of recount emulate --exact against arithmetic. Arguments: recount, the program of timed.c."""
import functools
import subprocess
import sys
import time
import unittest

RECOUNT, TIMED = sys.argv[1:3]
TURNS, CYCLES_PER_TURN = 400000, 3.75  # of skl: 3 instructions, of which four issue in a cycle, and a multiplication of 3
RATE = 3.4  # GHz
READING = 5000  # ns that readings of clocks take around what is timed, at most


def emulate(*command, options=()):
    answer = subprocess.run([RECOUNT, "emulate", "--exact", "-q", *options, "skl", "--", *command], capture_output=True, text=True, check=False,
                            timeout=250)
    if answer.returncode:
        raise AssertionError(f"status {answer.returncode}: {answer.stderr}")
    return answer.stdout


@functools.cache
def timed():
    """Of each thing that timed.c does: its numbers."""
    what = ("work", "waits", "child", "answered", "laps", "threads", "chase")
    text = emulate(TIMED, str(TURNS), *what)
    return text, dict(zip(what, [[int(word) for word in line.split()] for line in text.splitlines()]))


class Clock(unittest.TestCase):
    def assert_close(self, reading, expected, tolerance=READING):
        self.assertTrue(expected - tolerance <= reading <= expected + tolerance, f"{reading}, expected {expected}")

    def test_every_clock_tells_cycles_by_their_rate(self):
        cycles, tsc, *clocks = timed()[1]["work"]
        self.assert_close(cycles / RATE, TURNS * CYCLES_PER_TURN / RATE)
        self.assert_close(tsc / RATE, cycles / RATE)
        for reading in clocks:
            self.assert_close(reading, cycles / RATE)

    def test_waits_last_as_long_as_they_are(self):
        for reading, milliseconds in zip(timed()[1]["waits"], (2, 3, 5, 7)):
            self.assert_close(reading, milliseconds * 1e6)
            self.assertGreaterEqual(reading, milliseconds * 1000000)

    def test_a_wait_for_a_child_lasts_as_long_as_it_executes(self):
        waited, by_wait4, by_getrusage, by_times, by_itself, parent = timed()[1]["child"]
        executes = TURNS * CYCLES_PER_TURN / RATE
        beside = 100000  # of the child: what the C library does after fork(2) and before the end
        for reading in (waited, by_wait4, by_getrusage, by_itself):
            self.assertTrue(executes <= reading <= executes + beside, (reading, executes))
        self.assertLessEqual(by_times, by_getrusage)
        self.assertLess(parent, executes / 2)

    def test_a_wait_ends_with_what_it_waits_for_however_long_that_takes_on_the_host(self):
        answer, waited = timed()[1]["answered"]
        self.assertEqual(answer, 1)
        self.assertLess(waited, 8 * TURNS * CYCLES_PER_TURN / RATE + READING)

    def test_waits_of_others_are_not_added_to_what_a_process_executes(self):
        lap = TURNS / 20 * CYCLES_PER_TURN / RATE
        self.assertLess(timed()[1]["laps"][0], 2 * lap + READING)

    def test_threads_share_one_cpu_and_its_clock(self):
        decreased, elapsed = timed()[1]["threads"]
        self.assertEqual(decreased, 0)
        self.assertGreaterEqual(elapsed, 4 * TURNS * CYCLES_PER_TURN / RATE)

    def test_chained_loads_wait_for_the_caches_that_hold_them(self):
        for reading, latency in zip(timed()[1]["chase"], (0, 4, 14, 44)):  # none known, L1, L2, L3 of skl
            self.assert_close(reading, TURNS * (0.75 + latency) / RATE, 0.02 * TURNS * (0.75 + latency) / RATE + READING)

    def test_repetitions_are_equal(self):
        self.assertEqual(*(emulate(TIMED, str(TURNS), "work", "waits") for _ in range(2)))

    def test_real_time_is_that_of_this_machine(self):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        told = int(emulate(TIMED, "0", "now", options=("--real-time",)))
        self.assertTrue(before <= told <= time.clock_gettime_ns(time.CLOCK_MONOTONIC))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
