"""Mount namespaces in which a command sees another machine's files: for tests/pmu/run and tests/worlds/run."""
import ctypes
import os
import pathlib
import shutil
import signal
import sys
import tempfile

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
CPUS = pathlib.Path("/sys/devices/system/cpu")
libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """This user or this Linux allows no such namespace."""


def call(what, function, *arguments):
    if function(*arguments) != 0:
        error = ctypes.get_errno()
        raise Unavailable(f"{what}: {os.strerror(error)}")


def mount(source, target, kind=None, flags=0):
    call(f"mount {kind or '--bind'} over {target}", libc.mount, os.fsencode(source), os.fsencode(target), kind and kind.encode(),
         flags or (0 if kind else MS_BIND | MS_REC), None)


def enter():
    uid, gid = os.getuid(), os.getgid()
    call("unshare", libc.unshare, CLONE_NEWNS | (CLONE_NEWUSER if uid != 0 else 0))
    if uid != 0:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    mount("none", "/", flags=MS_REC | MS_PRIVATE)


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")


def replace_caches(work, caches):
    """Gives each CPU in sysfs the cache folders {index: {file: text}} of caches(CPU number), whether or not it has
    some. All other entries lead to the real tree, which stays reachable below `work`."""
    real, tree = work / "real-cpus", work / "cpus"
    real.mkdir()
    tree.mkdir()
    mount(CPUS, real)
    for entry in os.scandir(real):
        number = entry.name.removeprefix("cpu")
        if not (number.isdigit() and entry.is_dir()):
            (tree / entry.name).symlink_to(entry.path)
            continue
        (tree / entry.name).mkdir()
        for own in os.scandir(entry.path):
            if own.name != "cache":
                (tree / entry.name / own.name).symlink_to(own.path)
        for index, files in enumerate(caches(number)):
            write(tree / entry.name / "cache" / f"index{index}", files)
    mount(tree, CPUS)


def run(program, prepare, command):
    """Runs the command after prepare(folder for files) in a child with namespaces of its own; its exit status. 77,
    with the reason, where there can be none; a signal that ended the command ends this process too."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="recount-namespace-"))
    work.chmod(0o755)  # what is bound from it is read by other users as well
    try:
        child = os.fork()
        if child == 0:
            try:
                enter()
                prepare(work)
                os.execvp(command[0], command)
            except Unavailable as reason:
                print(f"SKIP: {program}: no namespace for a simulated machine: {reason}", file=sys.stderr)
                os._exit(77)
            except OSError as reason:
                print(f"{program}: {reason}", file=sys.stderr)
                os._exit(127)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status
