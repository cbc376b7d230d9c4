#!/usr/bin/env python3
"""Repeats `recount caches` and reports wrong or unstable results.

Runs it again and again by the clock and holds line, capacity and ways of L1 and the capacity of L2 against what the
system states (or against --machine, where the system states the value of another CPU). With --neighbour a process copies memory
on another core all the while. A benchmark, no test of CI: it takes minutes and wants a machine of its own.

Exit status: 0 nothing wrong and at most --unknown runs with an unknown; 1 otherwise; 3 it could not be run.
"""
import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time

HELD = [("L1d", "line"), ("L1d", "capacity"), ("L1d", "ways"), ("L2", "capacity")]


def hog(cpu, mebibytes):
    """Copies memory back and forth until it is ended."""
    os.sched_setaffinity(0, {cpu})
    a, b = bytearray(mebibytes << 20), bytearray(mebibytes << 20)
    while True:
        a[:] = b
        b[:] = a


def look(args, cpu):
    """The findings of one run, and its seconds."""
    command = [args.program, "caches", "--witness", "clock", "--json", "-q", "--cpu", str(cpu)]
    if args.machine:
        command += ["--machine", args.machine]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if done.returncode not in (0, 3) or not done.stdout:
        sys.exit(f"caches-repeat: {' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout), seconds


def held(found):
    """(name, text, verdict) of each property with a documented value."""
    levels = {level["level"]: level for level in found["levels"]}
    for level, name in HELD:
        p = levels.get(level, {}).get(name, {"unknown": "no such level was found"})
        if "unknown" in p:
            yield f"{level} {name}", p["unknown"], "unknown"
        elif "stated" not in p:
            yield f"{level} {name}", str(p["value"]), "not stated"
        else:
            yield f"{level} {name}", str(p["value"]), "right" if p["agreement"] == "agrees" else "WRONG"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the recount to run: build/src/recount")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--unknown", type=int, default=2, help="runs that may have an unknown")
    parser.add_argument("--neighbour", action="store_true", help="copy memory on another core meanwhile")
    parser.add_argument("--mebibytes", type=int, default=64, help="of each of the neighbour's two blocks")
    parser.add_argument("--machine", default="", help="hold against this described machine")
    args = parser.parse_args()

    cpus = sorted(os.sched_getaffinity(0))
    if args.neighbour and len(cpus) < 2:
        print("caches-repeat: --neighbour needs a second CPU", file=sys.stderr)
        return 3
    neighbour = None
    if args.neighbour:
        neighbour = multiprocessing.Process(target=hog, args=(cpus[0], args.mebibytes), daemon=True)
        neighbour.start()
    wrong = unknown = 0
    times = []
    for run in range(args.runs):
        found, seconds = look(args, cpus[-1])
        times.append(seconds)
        verdicts = list(held(found))
        wrong += any(v == "WRONG" for _, _, v in verdicts)
        unknown += any(v == "unknown" for _, _, v in verdicts)
        print(f"{run + 1:3}  {seconds:5.1f} s  " + ", ".join(f"{n} {t} {v}" for n, t, v in verdicts), flush=True)
    if neighbour:
        neighbour.terminate()
    print(f"{args.runs} runs{' beside a neighbour' if neighbour else ''}: {wrong} wrong, {unknown} with an unknown, "
          f"{min(times):.1f} to {max(times):.1f} s")
    return 0 if wrong == 0 and unknown <= args.unknown else 1


if __name__ == "__main__":
    sys.exit(main())
