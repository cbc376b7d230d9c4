#!/usr/bin/env python3
"""What an emulation costs. Argument: recount."""
import os
import subprocess
import sys
import unittest

RECOUNT = os.path.abspath(sys.argv[1])
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


class Memory(unittest.TestCase):
    def peak_kib(self, times, command):
        answer = emulate("skl", "sh", "-c", PEAK % (times, command))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return int(answer.stdout)

    def test_is_constant_in_the_number_of_ended_processes(self):
        for command, few, many in (("/bin/true", 6, 24), ("(:)", 10, 40)):
            with self.subTest(command=command):
                self.assertLess(self.peak_kib(many, command), 1.25 * self.peak_kib(few, command))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
