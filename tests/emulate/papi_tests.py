#!/usr/bin/env python3
"""PAPI's own tests under recount emulate --exact, as a table. papi_tests.py RECOUNT PAPI-CHECKOUT [OPTION...]

PAPI-CHECKOUT is a clone or an unpacked release of github.com/icl-utk-edu/papi, of the version of the libpapi that is linked. Its
validation_tests and ctests are built in a copy and run without emulation (the control) and on each machine. Not part of `make test`: an
hour on two CPUs.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SUITES = ("validation_tests", "ctests")
# What configure would write, with its default optimisation of tests; the expected loads and stores are those of scalar code.
VARIABLES = {"CC": "gcc", "CC_R": "gcc -pthread", "MPICC": "", "F77": "", "CFLAGS": "-w -O1", "TOPTFLAGS": "-O1", "OPTFLAGS": "-O2 -fno-tree-vectorize",
             "OMPCFLGS": "-fopenmp", "LDFLAGS": "-ldl -lrt -lpthread"}
PASSED, WARNING, FAILED, SKIPPED, TIMEOUT = "passed", "warning", "failed", "skipped", "time-out"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recount")
    parser.add_argument("papi", type=pathlib.Path)
    parser.add_argument("--machine", action="append", metavar="NAME[:TABLE]",
                        help="machine, and a preset table where PAPI has none for it (default: skl)")
    parser.add_argument("--libpapi", default="-lpapi", help="library to link (default -lpapi)")
    parser.add_argument("--matrix", type=int, default=200, metavar="N",
                        help="rows of the matrices that validation tests multiply, instead of 1000 and 512 (default 200)")
    parser.add_argument("--flops", type=int, metavar="N",
                        help="turns of do_flops(), instead of 20000000, and no repetition of it until 2 seconds have passed")
    parser.add_argument("--only", default="*", metavar="GLOB[,GLOB...]", help="names of tests")
    parser.add_argument("--timeout", type=float, default=300, metavar="S")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--logs", type=pathlib.Path, metavar="FOLDER", help="keep the output of each test; what is there is not run again")
    return parser.parse_args()


def shrink(folder, rows, flops):
    """Products of fewer rows: those of 1000 take half an hour each. do_stuff() is repeated as often as all threads together do it in two
    seconds, and Valgrind executes one thread at a time: tests of five threads take five times as long as alone."""
    for name, words in (("flops_testcode.c", "ROWS|COLUMNS"), ("matrix_multiply.c", "MATRIX_SIZE")):
        file = folder / "validation_tests" / name
        file.write_text(re.sub(rf"(#define\s+(?:{words})\s+)\d+", rf"\g<1>{rows}", file.read_text()))
    if flops:
        file = folder / "testlib" / "do_loops.h"
        text = re.sub(r"(#define\s+NUM_FLOPS\s+)\d+", rf"\g<1>{flops}", file.read_text())
        file.write_text(re.sub(r"(#define\s+NUM_WORK_SECONDS\s+)\d+", r"\g<1>0", text))


def build(source, folder, libpapi, rows, flops):
    """Builds the tests in the folder from which they are run, as PAPI's src."""
    for name in ("testlib",) + SUITES:
        shutil.copytree(source / name, folder / name)
        text = "".join(f"{key} = {value}\n" for key, value in VARIABLES.items())
        (folder / name / "Makefile.target").write_text(f"{text}PAPILIB = {libpapi}\n")
    shrink(folder, rows, flops)
    for header in source.glob("*.h"):
        shutil.copy(header, folder)
    (folder / "reported").mkdir()
    # What cannot be built (MPI, other libraries) is missing from the table.
    for name in ("testlib",) + SUITES:
        subprocess.run(["make", "-k", "-j2", "-C", folder / name, "all"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def programs(source, folder, only):
    excluded = {line.strip() for line in (source / "run_tests_exclude.txt").read_text().splitlines()}
    found = []
    for suite in SUITES:
        for path in sorted((folder / suite).iterdir()):
            name = f"{suite}/{path.name}"
            if path.is_file() and os.access(path, os.X_OK) and name not in excluded and any(
                    fnmatch.fnmatch(path.name, glob) for glob in only.split(",")):
                found.append(name)
    return found


def reason(lines):
    """What a test printed last, without the advice that follows each failure."""
    said = [line.strip() for line in lines if line.strip() and not re.match(r"Some tests require|or library versions|system without", line)]
    return said[-1][:110].replace("|", "/") if said else ""


def outcome(status, text):
    """PASSED, PASSED with WARNING, SKIPPED, FAILED!!! (testlib/test_utils.c), and the reason."""
    if status is None:
        return TIMEOUT, ""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if "FAILED!!!" in line:
            return FAILED, reason(lines[number + 1:number + 2])
        if "SKIPPED" in line:
            return SKIPPED, reason(lines[:number])
    if status:
        return FAILED, f"status {status}: {reason(lines)}" if status > 0 else f"signal {signal.Signals(-status).name}"
    if "PASSED with WARNING" in text:
        warnings = [line for line in lines if "WARNING" in line and "PASSED" not in line]
        return WARNING, reason(warnings)
    return PASSED, "" if "PASSED" in text else "prints no verdict"


def run(folder, command, environment, timeout, log):
    """Status, or None after a time-out, and output; from the log where there is one."""
    if log and log.exists():
        status, _, text = log.read_text().partition("\n")
        return (None if status == TIMEOUT else int(status)), text
    variables = dict(os.environ, TESTS_COLOR="n", PATH=f"./ctests:{os.environ['PATH']}", PAPI_OUTPUT_DIRECTORY=str(folder / "reported"),
                     **environment)
    with subprocess.Popen(command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as child:
        try:
            text, status = child.communicate(timeout=timeout)[0], child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            text, status = child.communicate()[0], None
    text = text.decode(errors="replace")
    if log:
        log.write_text(f"{TIMEOUT if status is None else status}\n{text}")
    return status, text


def configurations(options):
    """Column -> command before the test, and its environment."""
    columns = {"control": ([], {})}
    for machine in options.machine or ["skl"]:
        name, _, table = machine.partition(":")
        environment = {"PAPI_CSV_EVENT_FILE": str(pathlib.Path(table).resolve())} if table else {}
        columns[name] = ([os.path.abspath(options.recount), "emulate", "--exact", "-q", name, "--"], environment)
    return columns


def print_table(columns, results):
    print("| test |", " | ".join(columns), "|")
    print("|---|" + "---|" * len(columns))
    for test in sorted({test for test, _ in results}, key=lambda name: (name.startswith("ctests"), name)):
        cells = []
        for column in columns:
            what, why = results[test, column]
            cells.append(f"{what}: {why}" if why else what)
        print(f"| {test.replace('validation_tests', 'validation')} |", " | ".join(cells), "|")
    for suite in SUITES:
        sums = []
        for column in columns:
            all_of = [what for (test, name), (what, _) in results.items() if name == column and test.startswith(suite)]
            sums.append(", ".join(f"{all_of.count(what)} {what}" for what in (PASSED, WARNING, FAILED, SKIPPED, TIMEOUT) if what in all_of))
        print(f"| **{suite}** |", " | ".join(sums), "|")


def main():
    options = arguments()
    source = options.papi / "src" if (options.papi / "src" / "ctests").is_dir() else options.papi
    if not (source / "ctests").is_dir():
        sys.exit(f"papi_tests.py: {options.papi}: no checkout of PAPI: src/ctests is missing")
    columns = configurations(options)
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(temporary)
        build(source, folder, options.libpapi, options.matrix, options.flops)
        jobs = {}
        for column, (before, environment) in columns.items():
            for test in programs(source, folder, options.only):
                log = options.logs / f"{test.replace('/', '.')}.{column}" if options.logs else None
                jobs[test, column] = pool.submit(run, folder, before + [f"./{test}"], environment, options.timeout, log)
        results = {}
        for (test, column), job in jobs.items():
            results[test, column] = outcome(*job.result())
            print(test, column, *results[test, column], file=sys.stderr)
    print_table(columns, results)


main()
