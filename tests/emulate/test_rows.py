#!/usr/bin/env python3
"""Right rows of preset tables (tests/pmu/tables), judged by what recount's kernels execute: none is accused or unstable.
Arguments: recount, pmu-presets, machines."""
import os
import pathlib
import subprocess
import sys

RECOUNT, PRESETS, *MACHINES = sys.argv[1:]
TABLES = pathlib.Path(__file__).resolve().parent.parent / "pmu/tables"

failed = []
for machine in MACHINES:
    answer = subprocess.run([RECOUNT, "emulate", "--exact", "-q", "--general", "32", machine, "--", PRESETS, "--run_test=mutants/right_rows_agree"],
                            env={**os.environ, "PAPI_CSV_EVENT_FILE": str(TABLES / f"{machine}.csv")}, check=False)
    if answer.returncode:
        failed.append(machine)
print(f"{len(MACHINES) - len(failed)} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
