#!/usr/bin/env python3
"""Programs with a root and PIDs of their own, as in containers, profiled from outside. Arguments: recount, the program
"generated" of tests/fixtures. Exit 77 where no such namespaces are allowed, or nothing can be sampled."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent.parent))
import namespaces  # noqa: E402
from namespaces import Unavailable, libc, mount  # noqa: E402

CLONE_NEWPID = 0x20000000


def make_root(root, program, tmp):
    """A root with the libraries of the system, and the program in /app; /tmp is a folder, or a link to `tmp`."""
    mount("tmpfs", root, "tmpfs")
    for folder in ("usr", "lib", "lib64", "etc"):
        outside = pathlib.Path("/") / folder
        if outside.is_symlink():
            (root / folder).symlink_to(os.readlink(outside))
        elif outside.is_dir():
            (root / folder).mkdir()
            mount(outside, root / folder)
    (root / "app").mkdir()
    shutil.copy(program, root / "app" / "generated")
    if tmp:
        (root / "tmp").symlink_to(tmp)
    else:
        (root / "tmp").mkdir()


def inside(root, program, tmp, *arguments):
    """Runs the program in such a container; does not return."""
    try:
        namespaces.enter()
        namespaces.call("unshare", libc.unshare, CLONE_NEWPID)
        child = os.fork()
        if child == 0:
            make_root(pathlib.Path(root), program, tmp)
            os.chroot(root)
            os.chdir("/app")
            os.execv("/app/generated", ["generated", *arguments])
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        os.write(1, f"outside {child}\n".encode())  # at once: the program writes there, too
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 127)
    except Unavailable as reason:
        print(f"SKIP: no namespace for a container: {reason}")
        os._exit(77)


class Containers(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="recount-container-"))
        self.addCleanup(shutil.rmtree, self.work, True)
        (self.work / "root").mkdir()

    def container(self, *arguments, tmp=""):
        return [sys.executable, HERE, "--inside", self.work / "root", PROGRAM, tmp, *arguments]

    def profile(self, *arguments):
        got = subprocess.run([RECOUNT, "profile", "--by", "symbol", "-e", "cpu-clock:u", *arguments], capture_output=True, text=True,
                             timeout=120, check=False, env={**os.environ, "COLUMNS": "100"})
        self.assertEqual(got.returncode, 0, got.stderr)
        return got.stdout + got.stderr

    def attached(self, *arguments, tmp=""):
        """What a profile of the running program says."""
        with subprocess.Popen(self.container("60000", *arguments, tmp=tmp), stdout=subprocess.PIPE, text=True) as started:
            lines = sorted(started.stdout.readline().strip() for _ in range(2))
            try:
                self.assertEqual(lines[0], "1")  # the PID that it has inside
                return self.profile("-p", lines[1].removeprefix("outside "), "--", "sleep", "1")
            finally:
                started.terminate()

    def test_of_a_running_program(self):
        text = self.attached()
        self.assertRegex(text, r"container_spin +generated\n")
        self.assertRegex(text, r"generated_spin +\[jit\]\n")

    def test_of_a_program_that_has_ended(self):
        text = self.profile("--", *self.container("500"))
        self.assertRegex(text, r"container_spin +generated\n")
        self.assertRegex(text, r"generated_spin +\[jit\]\n")

    def test_a_dump_has_the_pid_of_its_namespace(self):
        self.assertRegex(self.attached("dump"), r"generated_spin +\[jit\]\n")

    def test_links_do_not_lead_out(self):
        outside = self.work / "outside"
        outside.mkdir()
        (outside / "perf-1.map").write_text("1000 7ffffffff000 not_of_the_container\n")
        # The link of the container has no target in it, so that the program does not get far without a dump.
        text = self.attached("dump", tmp=str(outside))
        self.assertNotIn("not_of_the_container", text)
        self.assertRegex(text, r"container_spin +generated\n")


if sys.argv[1] == "--inside":
    inside(*sys.argv[2:])
RECOUNT, PROGRAM = sys.argv[1:3]
first = subprocess.run([RECOUNT, "doctor", "--for", "profile"], capture_output=True, text=True, check=False)
if first.returncode:
    print("SKIP:", first.stdout, end="")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    first = subprocess.run([sys.executable, HERE, "--inside", folder, PROGRAM, "", "1"], capture_output=True, text=True, check=False)
if first.returncode == 77:
    print(first.stdout, end="")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
