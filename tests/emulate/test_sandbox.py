#!/usr/bin/env python3
"""recount emulate where perf_event_open, namespaces and mounts are refused, as in an unprivileged container.
Arguments: recount, the programs of counted.c, sandbox.c and sampled.c."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

RECOUNT, COUNTED, SANDBOX, SAMPLED = sys.argv[1:5]
INSTRUCTIONS, CONDITIONAL, SCALAR_DOUBLE = "0xc0", "0x1c4", "0x1c7"
# What a turn of counted.c executes.
TURN = {INSTRUCTIONS: 6, CONDITIONAL: 1}
FEW = 100000

# perf_event_open(2) as a program without a library makes it: groups, identifiers, what Linux refuses.
CALLS = r"""
import ctypes, errno, struct
libc = ctypes.CDLL(None, use_errno=True)
ENABLE, DISABLE, ID = 0x2400, 0x2401, 0x80082407
def event(config, group=-1, pid=0, flags=0, size=128):
    attr = bytearray(128)
    struct.pack_into("IIQQQQQ", attr, 0, 4, size, config, 0, 0, 15, (group < 0) | 1 << 5)
    fd = libc.syscall(298, (ctypes.c_char * 128).from_buffer(attr), pid, -1, group, flags)
    return fd if fd >= 0 else errno.errorcode[ctypes.get_errno()]
leader = event(0xc0)
sibling = event(0x1c4, leader)
ident = (ctypes.c_uint64 * 2)()
for i, fd in enumerate((leader, sibling)):
    assert libc.ioctl(fd, ctypes.c_ulong(ID), ctypes.byref(ident, 8 * i)) == 0
libc.ioctl(leader, ENABLE, 1)
sum(range(1000))
libc.ioctl(leader, DISABLE, 1)
words = (ctypes.c_uint64 * 7)()
print(libc.read(leader, words, 56), words[0], [words[4], words[6]] == list(ident), 0 < words[5] < words[3], words[2] <= words[1])
print(libc.read(leader, words, 8), errno.errorcode[ctypes.get_errno()])
print(event(0xc0, 1), event(0xc0, pid=2 ** 22 - 1), event(0xc0, flags=1 << 10), event(0xc0, size=8), event(0xc0, sibling))
"""


class Sandbox(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o777)

    def confined(self, *command):
        return subprocess.run([SANDBOX, *command], capture_output=True, text=True, check=False, timeout=250,
                              env=dict(os.environ, TMPDIR=str(self.folder)))

    def emulate(self, *command, options=("--exact", "-q")):
        return self.confined(RECOUNT, "emulate", *options, "skl", "--", *command)

    def test_nothing_is_allowed_here(self):
        for command in (["unshare", "--user", "true"], ["unshare", "--mount", "true"]):
            self.assertNotEqual(self.confined(*command).returncode, 0)

    def test_counts_are_exact(self):
        few, many = (self.emulate(COUNTED, ",".join(TURN), str(turns)).stdout.split() for turns in (FEW, 2 * FEW))
        self.assertEqual([int(b) - int(a) for a, b in zip(few, many)], [FEW * each for each in TURN.values()])

    def test_children_and_threads_are_inherited(self):
        self.assertEqual(self.emulate(COUNTED, SCALAR_DOUBLE, "50000", "fork,thread,crash").stdout.split(), ["100000"] * 3)

    def test_samples_are_exact(self):
        # Samples, intervals, exact ones, samples in the ring, the least and the greatest interval.
        self.assertEqual(self.emulate(SAMPLED, "instructions", "997", "500").stdout.split(), ["500", "499", "499", "500", "997", "997"])

    def test_calls_answer_as_linux_does(self):
        lines = self.emulate("/usr/bin/python3", "-c", CALLS)
        self.assertEqual(lines.stdout.splitlines(), ["56 2 True True True", "-1 ENOSPC", "EBADF ESRCH EINVAL E2BIG EINVAL"], lines.stderr)

    def test_libraries_find_the_machine(self):
        answer = self.emulate(RECOUNT, "stat", "-e", "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE:u", "--json", "--", COUNTED, "-", str(FEW))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, rf'"mean": {2 * FEW // 100}\d\d\.0')  # and those of the child before the program

    def test_files_are_those_of_the_machine(self):
        files = {"/sys//bus/event_source/devices/cpu/type": "4", "/sys/devices/system/cpu/cpu0/cache/index2/size": "256K",
                 "/proc/sys/kernel/perf_event_paranoid": "2",
                 "/sys/devices/system/cpu/online": pathlib.Path("/sys/devices/system/cpu/online").read_text().strip()}
        script = "".join(f"cat {file}; read line <{file}; echo $line; " for file in files)
        answer = self.emulate("sh", "-c", script + "ls /sys/bus/event_source/devices/cpu; grep -m1 'model name' /proc/cpuinfo")
        lines = answer.stdout.splitlines()
        self.assertEqual(lines[:8], [text for file, text in files.items() for _ in range(2)], answer.stderr)
        self.assertIn("format", lines)
        self.assertRegex(lines[-1], r"i7-6700.*\(emulated\)")

    def test_status_and_signals_are_the_programs_and_nothing_is_left(self):
        self.assertEqual(self.emulate("sh", "-c", "exit 3").returncode, 3)
        self.assertEqual(self.emulate("sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_rates_need_no_events_of_linux(self):
        self.assertGreater(int(self.emulate(COUNTED, INSTRUCTIONS, str(FEW), options=("--fast", "-q")).stdout), 0)


first = subprocess.run([SANDBOX, RECOUNT, "emulate", "--exact", "-q", "skl", "--", "true"], capture_output=True, text=True, check=False)
if first.returncode == 77:
    print(first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
