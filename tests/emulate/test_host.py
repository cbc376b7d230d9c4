#!/usr/bin/env python3
"""What an emulation writes and shows on hosts that have PMUs of the same names: it leaves the host alone.
Arguments: recount, tests/worlds/run, the program of counted.c."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RECOUNT, WORLD, COUNTED = map(os.path.abspath, sys.argv[1:4])
MACHINES = sorted(path.stem for path in (pathlib.Path(RECOUNT).resolve().parent / "model/emulate/machines").glob("*.pmu"))
WORLDS = (), (WORLD, "large"), (WORLD, "hybrid")
# Calls that create, change or remove what a path names.
CHANGES = "mkdir,rmdir,unlink,rename,link,symlink,chmod,chown,truncate,mknod,setxattr,removexattr,utimens"
CALLS = ",".join(["open,openat,openat2,creat,renameat2,utime,utimes,futimesat,fchmodat2,chown32", *(
    f"{name},?{name}at" for name in CHANGES.split(","))]).replace(",", ",?").join(["?", ""])
# Of a process of its own: who it is in a user namespace.
OWN = re.compile(r"/dev/null|/proc/(self|\d+)/(setgroups|uid_map|gid_map)|/dev/tty")


def run(*command, **how):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=250, **how)


class Host(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.folder.chmod(0o777)
        (self.folder / "tmp").mkdir(mode=0o777)
        self.environment = dict(os.environ, TMPDIR=str(self.folder / "tmp"))

    def changed(self, world, *command):
        """Paths of all calls that could change a file and succeeded, where descriptors are shown as what they name."""
        log = self.folder / "log"
        answer = run(*world, STRACE, "-f", "-y", "-qq", "-s", "4096", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", log,
                     "-E", f"TMPDIR={self.folder / 'tmp'}", *command)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        lines = log.read_text(errors="replace").splitlines()
        self.assertGreater(len(lines), 10)
        for line in lines:
            call = re.match(r"\d+ +(\w+)\((.*)\) += (\d+)(?:<(.*)>)?$", line)
            if not call or call[1].startswith("open") and not re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", call[2]):
                continue
            # What was opened, else the last path of the call, below the folder of its descriptor.
            if call[4]:
                yield call[4], line
            else:
                below, name = re.findall(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"', call[2])[-1]
                yield os.path.normpath(os.path.join(below, name)), line

    def test_nothing_of_the_host_is_written(self):
        for world in WORLDS:
            # Machines with the PMUs of those worlds, and one with a core PMU alone.
            for machine in ("adl", "skl", "spr") if world else MACHINES:
                for way in ("--fast", "--exact") if machine in ("spr", "adl") else ("--fast",):
                    with self.subTest(world=world, machine=machine, way=way):
                        command = [RECOUNT, "emulate", way, "-q", "--mux-ms", "77", machine, "--", "cat", *(
                            f"/sys/bus/event_source/devices/{name}/type" for name in self.names(machine)[:1])]
                        for path, line in self.changed(world, *command):
                            own = path.startswith(str(self.folder / "tmp")) or OWN.fullmatch(path)
                            self.assertTrue(own, line)
                        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    @staticmethod
    def names(machine):
        return re.findall(r"(?m)^(?:device|pmu) (\S+)", run("cat", *(
            pathlib.Path(RECOUNT).resolve().parent / "model/emulate/machines" / f"{name}.pmu" for name in {machine, *{"icx": ["spr"]}.get(machine, [])})).stdout)

    def test_hosts_with_the_same_pmus_show_those_of_the_machine(self):
        show = "cd /sys/bus/event_source/devices; for pmu in *; do echo $pmu $(cat $pmu/type $pmu/perf_event_mux_interval_ms $pmu/cpumask); done"
        for machine in ("spr", "icx", "adl", "skl"):
            shown = [dict(line.split(maxsplit=1) for line in run(*world, RECOUNT, "emulate", "--fast", "-q", "--mux-ms", "77", machine, "--", "sh", "-c",
                                                                 show).stdout.splitlines() if " " in line) for world in WORLDS]
            self.assertIn("cpu_core" if machine == "adl" else "cpu", shown[0])
            for there in shown[1:]:
                extra = {name: text for name, text in there.items() if shown[0].get(name) != text}
                self.assertLessEqual(set(extra), {"power", "uncore_imc_0"} if machine in ("skl", "adl") else set(), machine)
                # A PMU of the host with the type of one of the machine's would answer for it. Those of such a host may share one of this host.
                own = {name: text.split()[0] for name, text in there.items() if name in self.names(machine)}
                self.assertTrue(own, there)
                self.assertFalse(set(own.values()) & {text.split()[0] for name, text in there.items() if name not in own}, there)

    def test_counts_are_those_of_other_hosts(self):
        counts = {run(*world, RECOUNT, "emulate", "--exact", "-q", machine, "--", COUNTED, "0xc0", "100000").stdout
                  for world in WORLDS for machine in ("spr", "skl")}
        self.assertEqual(len(counts), 1, counts)

    def test_names_of_a_machine_lead_nowhere_else(self):
        shutil.copy(pathlib.Path(RECOUNT).resolve().parent / "model/emulate/machines/skl.pmu", self.folder)
        machine = self.folder / "m.pmu"
        machine.write_text("like skl\nmachine mine\ndevice ../../../escape like=msr\n")
        answer = run(RECOUNT, "emulate", "--fast", "-q", machine, "--", "true", env=self.environment)
        self.assertEqual(answer.returncode, 125)
        self.assertIn("no name of a file", " ".join(answer.stderr.split()))

    def test_the_fix_follows_the_error(self):
        answer = run(RECOUNT, "emulate", "--fast", "-q", "skl", "--", "true", env=dict(os.environ, TMPDIR="/proc"))
        self.assertEqual(answer.returncode, 125)
        self.assertIn("set TMPDIR to a folder that can be written", " ".join(answer.stderr.split()))

    def test_a_closed_folder_is_not_an_unknown_machine(self):
        if os.geteuid() != 0:
            self.skipTest("only root becomes another user")
        build = self.folder / "closed" / "build"
        for part in ("src/recount", "src/model/emulate/machines/skl.pmu"):
            (build / part).parent.mkdir(parents=True, exist_ok=True)
            (build / part).write_bytes((pathlib.Path(RECOUNT).resolve().parents[1] / part).read_bytes())
        (build / "src/recount").chmod(0o755)
        (self.folder / "closed").chmod(0o711)
        (build / "src/model/emulate").chmod(0o700)
        answer = run("setpriv", "--reuid", "65534", "--clear-groups", build / "src/recount", "emulate", "--fast", "skl", "--", "true",
                     env=self.environment)
        self.assertEqual(answer.returncode, 125)
        self.assertRegex(" ".join(answer.stderr.split()), r"skl\.pmu: Permission denied")


STRACE = shutil.which("strace")
if not STRACE:
    print("SKIP: no strace in PATH (apt-get install strace)")
    sys.exit(77)
first = run(STRACE, "-f", "-o", "/dev/null", "true")
second = run(WORLD, "server", "true")
for attempt in (first, second):
    if attempt.returncode != 0:
        print("SKIP:", attempt.stderr)
        sys.exit(77)
unittest.main(argv=sys.argv[:1])
