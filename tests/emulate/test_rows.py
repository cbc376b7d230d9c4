#!/usr/bin/env python3
"""Right rows of preset tables (tests/pmu/tables), judged by recount check on emulated machines, as a user runs it: none is
accused, at most one in ten is unstable. A CPU that this libpfm4 does not know has no presets: what kernels execute there is recorded by
pmu-presets and judged. Arguments: recount, pmu-presets, machines."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

RECOUNT, PRESETS, *MACHINES = sys.argv[1:]
TABLES = pathlib.Path(__file__).resolve().parent.parent / "pmu/tables"
FEWEST = 35  # rows of a table that the machine can count


def emulate(machine, *words):
    return subprocess.run([RECOUNT, "emulate", "--exact", "-q", *words], stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "PAPI_CSV_EVENT_FILE": str(TABLES / f"{machine}.csv")})


def wrong(machine):
    """What is wrong with the verdicts."""
    verdicts = json.loads(emulate(machine, machine, "--", RECOUNT, "check", "--json", "-q").stdout)["verdicts"]
    if any("libpfm4 does not know it" in verdict["why"] for verdict in verdicts):
        recorded = emulate(machine, "--general", "32", machine, "--", PRESETS, "--run_test=mutants/right_rows_agree")
        return recorded.stdout.splitlines() if recorded.returncode else []
    by_verdict = {}
    for verdict in verdicts:
        if verdict["preset"].startswith("PAPI_"):
            by_verdict.setdefault(verdict["verdict"], []).append(f"{verdict['preset']}: {verdict['why']}")
    sound = sum(len(by_verdict.pop(name, [])) for name in ("agrees", "plausible"))
    by_verdict.pop("not counted", None)
    unstable = by_verdict.pop("unstable", [])
    faults = [f"{name}: {row}" for name, rows in by_verdict.items() for row in rows]
    if sound + len(unstable) < FEWEST:
        faults.append(f"{sound} rows were counted")
    return faults + (unstable if 10 * len(unstable) > sound + len(unstable) else [])


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    faults = dict(zip(MACHINES, pool.map(wrong, MACHINES)))
for name, rows in faults.items():
    print(*(f"{name}: {row}" for row in rows), sep="\n", end="\n" if rows else "")
failed = sum(1 for rows in faults.values() if rows)
print(f"{len(MACHINES) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
