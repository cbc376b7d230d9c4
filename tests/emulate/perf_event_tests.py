#!/usr/bin/env python3
"""The programs of perf_event_tests natively and under recount emulate --exact, as a table. perf_event_tests.py RECOUNT CHECKOUT [OPTION...]

CHECKOUT is a clone of github.com/deater/perf_event_tests, in which the programs that its run_tests.sh names are built, with smaller matrices:
one product of theirs, 512 rows, takes 10 seconds under Valgrind. Not part of `make test`: 20 minutes on two CPUs.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import signal
import subprocess

WORDS = r"PASSED|FAILED|SKIPPED|WARNING|CAUTION|UNEXPLAINED|NEED TESTCASE|NOT IMPLEMENTED|OLD BEHAVIOR|NEW BEHAVIOR|KNOWN KERNEL BUG"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recount", type=pathlib.Path)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--machine", default="skl")
    parser.add_argument("--matrix", type=int, default=128, metavar="N", help="rows of the matrices that are multiplied (default 128)")
    parser.add_argument("--only", default="*", metavar="GLOB[,GLOB...]", help="names of programs")
    parser.add_argument("--timeout", type=float, default=120, metavar="S")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--logs", type=pathlib.Path, metavar="FOLDER", help="keep what each program printed")
    return parser.parse_args()


def build(checkout, rows):
    """What cannot be built (PAPI, BPF) is left out by make -k."""
    file = checkout / "lib" / "matrix_multiply.c"
    text = file.read_text()
    smaller = re.sub(r"(#define MATRIX_SIZE) \d+", rf"\1 {rows}", text)
    if smaller != text:
        file.write_text(smaller)
        subprocess.run(["make", "-C", checkout, "clean"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for folder in ("lib", "tests"):
        subprocess.run(["make", "-k", "-j2", "-C", checkout / folder], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def outcome(program, command, limit, log):
    """The last judgement that the program printed, or else its status."""
    if not program.exists():
        return "not built"
    with subprocess.Popen([*command, "./" + program.name], cwd=program.parent, env={**os.environ, "TESTS_QUIET": "y"}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            text = process.communicate(timeout=limit)[0].decode(errors="replace")
            words = re.findall(WORDS, text)
            result = words[-1].lower() if words else f"status {process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, result = process.communicate()[0].decode(errors="replace"), "time-out"
    if log:
        log.write_text(f"{text}{result}\n")
    return result


def main():
    options = arguments()
    tests = options.checkout.resolve() / "tests"
    names = sorted(set(re.findall(r"\$TESTS_DIR/([\w/-]+)", (options.checkout / "run_tests.sh").read_text())) - {"utils/check_paranoid"})
    names = [name for name in names if any(fnmatch.fnmatch(name, glob) for glob in options.only.split(","))]
    build(options.checkout.resolve(), options.matrix)
    ways = {"native": [], options.machine: [str(options.recount.resolve()), "emulate", "--exact", "--rdpmc", "-q", options.machine, "--"]}

    def run(name):
        row = [name]
        for way, command in ways.items():
            log = options.logs and options.logs / f"{name.replace('/', '.')}.{way}"
            row.append(outcome(tests / name, command, options.timeout, log))
        return row

    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
    totals = [collections.Counter() for _ in ways]
    print(f"| program | {' | '.join(ways)} |\n|---{'|---' * len(ways)}|")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(run, names):
            print(f"| {' | '.join(row)} |", flush=True)
            for total, result in zip(totals, row[1:]):
                total[result] += 1
    for way, total in zip(ways, totals):
        print(f"{way}: " + ", ".join(f"{number} {result}" for result, number in total.most_common()))


if __name__ == "__main__":
    main()
