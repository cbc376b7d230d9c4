#!/usr/bin/env python3
"""What tests/pmu/run does besides running a command. Arguments: run, options of run."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

RUN = sys.argv[1:]
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
WORLDS = pathlib.Path(__file__).resolve().parent.parent / "worlds" / "run"
CPU = "/sys/devices/system/cpu/cpu0"
DEVICES = "/sys/bus/event_source/devices"


# Writes a watched buffer 100 times, and touches 100 pages: prints both counts, or the names of the errors.
PROGRAM = """
import ctypes, errno, mmap, os, struct
libc = ctypes.CDLL(None, use_errno=True)
memory = ctypes.create_string_buffer(128)
target = (ctypes.addressof(memory) + 63) // 64 * 64
def opened(kind, config, how, address, length):
    attr = struct.pack("IIQQQQQIIQQ40x", kind, 112, config, 0, 0, 0, 0x60, 0, how, address, length)
    fd = libc.syscall(ctypes.c_long(298), attr, 0, -1, -1, 0)
    return fd if fd >= 0 else -ctypes.get_errno()
def shown(fd):
    return int.from_bytes(os.read(fd, 8), "little") if fd >= 0 else errno.errorcode[-fd]
written, faults = opened(5, 0, 2, target, 8), opened(1, 2, 0, 0, 0)
for i in range(100):
    ctypes.memset(target, i, 8)
pages = mmap.mmap(-1, 400 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pages.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(100):
    pages[4 * i * 4096] = 1
print(shown(written), shown(faults))
"""


def run(*arguments):
    return subprocess.run(RUN + list(arguments), capture_output=True, text=True, check=False)


class Run(unittest.TestCase):
    def test_status_of_the_command(self):
        self.assertEqual(run("skl", "sh", "-c", "exit 3").returncode, 3)

    def test_signal_of_the_command(self):
        self.assertEqual(run("skl", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_options_of_the_command_are_its_own(self):
        self.assertEqual(run("--seed", "2", "skl", "echo", "--n", "--seed", "3").stdout, "--n --seed 3\n")

    def test_unknown_machine(self):
        answer = run("vax", "true")
        self.assertEqual(answer.returncode, 125)
        self.assertIn("known: adl, host, icx, skl, snb, spr, zen4, zen5", answer.stderr)

    def test_unknown_event(self):
        answer = run("--dead", "NOTHING", "skl", "true")
        self.assertEqual(answer.returncode, 125)
        self.assertIn('no event "NOTHING"', answer.stderr)

    def test_files_of_the_machine(self):
        answer = run("--watchdog", "--paranoid", "4", "adl", "cat", f"{DEVICES}/cpu_atom/type", f"{DEVICES}/cpu_core/cpus",
                     PARANOID, "/proc/sys/kernel/nmi_watchdog")
        self.assertEqual(answer.stdout.split(), ["10", "0", "4", "1"])

    def test_doctor_names_the_watchdog(self):
        answer = run("--watchdog", "skl", f"{RUN[-1]}/src/recount", "doctor", "-v")
        self.assertRegex(answer.stdout, r"limited +NMI watchdog: on: it uses one counter per core")

    def test_dead_classes_open_and_count_nothing(self):
        def counts(*options):
            return run(*options, "host", sys.executable, "-c", PROGRAM).stdout.split()
        alive = counts()
        if "0" in alive or not all(count.isdigit() for count in alive):
            self.skipTest(f"breakpoint and page faults count here: {alive}")
        self.assertEqual(counts("--dead-class", "breakpoint")[0], "0")
        self.assertGreaterEqual(int(counts("--dead-class", "breakpoint")[1]), 100)
        self.assertEqual(counts("--dead-class", "page-faults")[1], "0")
        self.assertEqual(counts("--inject", "open:breakpoint:ENOSPC")[0], "ENOSPC")

    def test_caches_where_sysfs_has_none(self):
        inside = subprocess.run([str(WORLDS), "no-caches", *RUN, "skl", "cat", f"{CPU}/cache/index2/size", f"{CPU}/topology/core_id"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(inside.stdout.split(), ["256K", pathlib.Path(CPU, "topology/core_id").read_text().strip()])

    def test_without_sysfs_it_is_refused(self):
        inside = subprocess.run([str(WORLDS), "no-sysfs", *RUN, "skl", "true"], capture_output=True, text=True, check=False)
        self.assertEqual(inside.returncode, 125, inside.stderr)

    def test_linux_keeps_its_own_pmus(self):
        self.assertIn("software", run("skl", "ls", DEVICES).stdout.split())

    def test_the_machine_outside_stays_as_it_is(self):
        before = pathlib.Path(PARANOID).read_text(), sorted(os.listdir(DEVICES))
        run("--paranoid", "4", "skl", "true")
        self.assertEqual((pathlib.Path(PARANOID).read_text(), sorted(os.listdir(DEVICES))), before)

    def test_without_namespaces_it_is_skipped(self):
        answer = run("--unprivileged", "skl", *RUN, "skl", "true")
        self.assertEqual(answer.returncode, 77)
        self.assertIn("no namespace for a simulated machine", answer.stderr)


first = run("skl", "true")
if first.returncode == 77:
    print(first.stderr, end="")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
