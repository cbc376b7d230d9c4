#!/usr/bin/env python3
"""Each world lacks what its line in worlds.table says, and nothing else. Arguments: tests/worlds/run, recount."""
import json
import platform
import subprocess
import sys
import unittest

RUN, RECOUNT = sys.argv[1:3]
# What is found inside: the events that open, as "ok" or the name of an errno, and files.
PROBE = f'''
import ctypes, errno, glob, json, os, struct
libc = ctypes.CDLL(None, use_errno=True)
word = ctypes.c_uint64(0)
def count(kind, config, address):
    attr = struct.pack("=IIQQQQQIIQQ", kind, 112, config, 0, 0, 0, 0b1100000, 0, 2, address, 8).ljust(112, bytes(1))
    fd = libc.syscall(ctypes.c_long({298 if platform.machine() == "x86_64" else 241}), attr, 0, -1, -1, ctypes.c_ulong(0))
    if fd < 0: return errno.errorcode[ctypes.get_errno()]
    for i in range(10): word.value = i
    return int.from_bytes(os.read(fd, 8), "little")
print(json.dumps({{
    "clock": count(1, 1, 0), "breakpoint": count(5, 0, ctypes.addressof(word)), "uid": os.getuid(),
    "caches": len(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")), "topology": os.path.exists("/sys/devices/system/cpu/cpu0/topology/core_id"),
    "pmus": sorted(os.listdir("/sys/bus/event_source/devices")) if os.path.exists("/sys/bus/event_source/devices") else [],
    "cpus": len(glob.glob("/sys/devices/system/cpu/cpu[0-9]*")),
    "sys": len(glob.glob("/sys/*")), "tracefs": os.path.exists("/sys/kernel/tracing/trace"),
    "paranoid": open("/proc/sys/kernel/perf_event_paranoid").read().strip(),
    "hwloc": os.environ.get("HWLOC_XMLFILE", ""), "libpfm": os.environ.get("LIBPFM_FORCE_PMU", "")}}))
'''


def probe(*world):
    got = subprocess.run([*world, "python3", "-c", PROBE], capture_output=True, text=True, check=False)
    if got.returncode == 77:
        raise unittest.SkipTest(got.stderr)
    return json.loads(got.stdout or f'"{got.returncode}"')


HERE = probe()


class Worlds(unittest.TestCase):
    def differs(self, world, *keys):
        found = probe(RUN, world)
        self.assertEqual({key for key in found if found[key] != HERE[key]} - set(keys) - {"clock"}, set(), world)
        return found

    def test_an_unknown_cpu(self):
        found = self.differs("new-cpu", "breakpoint", "caches", "hwloc", "libpfm")
        self.assertEqual((found["caches"], found["topology"], found["libpfm"]), (0, HERE["topology"], "perf"))
        if isinstance(HERE["breakpoint"], int):
            self.assertEqual(found["breakpoint"], 0)

    def test_no_breakpoints(self):
        self.assertEqual(self.differs("no-breakpoints", "breakpoint", "tracefs")["breakpoint"], "ENODEV")

    def test_refused_events(self):
        for world, error in (("container", "EPERM"), ("container-old", "ENOSYS"), ("paranoid", "EACCES")):
            found = self.differs(world, "clock", "breakpoint", "tracefs", "paranoid", "uid")
            self.assertEqual((found["clock"], found["breakpoint"]), (error, error))
        self.assertEqual(found["paranoid"], "3")

    def test_no_sysfs(self):
        self.assertEqual(self.differs("no-sysfs", "sys", "caches", "topology", "tracefs", "pmus", "cpus")["sys"], 0)

    def test_more_pmus_and_cpus(self):
        found = self.differs("server", "pmus", "cpus")
        self.assertEqual((found["cpus"], set(found["pmus"]) - set(HERE["pmus"]) - {"power", "uncore_imc_0"}), (128, set()))
        self.assertLessEqual({"cpu_core", "cpu_atom"}, set(self.differs("hybrid", "pmus")["pmus"]))

    def test_doctor_fixes_what_refuses(self):
        for world, level in (("container", HERE["paranoid"]), ("paranoid", "3")):
            got = subprocess.run([RUN, world, RECOUNT, "doctor", "--json"], capture_output=True, text=True, check=False)
            found = {one["subject"]: one for one in json.loads(got.stdout)["findings"]}
            fixes = [found[who]["fix"] for who in ("you", "root (you)", "an unprivileged user") if who in found]
            self.assertTrue(fixes, got.stdout)
            for fix in fixes:
                self.assertEqual("sudo sysctl kernel.perf_event_paranoid=2" in fix, int(level) > 2 and world == "paranoid", fix)
                self.assertEqual("seccomp" in fix, world == "container", fix)

    def test_status_and_wrong_use(self):
        self.assertEqual(subprocess.run([RUN, "wrong-hwloc", "sh", "-c", "exit 3"], check=False).returncode, 3)
        self.assertEqual(subprocess.run([RUN, "vax", "true"], capture_output=True, check=False).returncode, 2)


first = subprocess.run([RUN, "new-cpu", "true"], capture_output=True, text=True, check=False)
if first.returncode == 77:
    print(first.stderr, end="")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
