#!/usr/bin/env python3
"""tidy.py BUILD: runs the checks of .clang-tidy over the units of src/ in a configured and built unity build, in
which one unit parses the headers for many files. Exit 77, with the reason, without clang-tidy 16 or newer."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys


def tool():
    names = ["clang-tidy"] + [f"clang-tidy-{version}" for version in range(30, 15, -1)]
    for name in names:
        if shutil.which(name) is None:
            continue
        found = re.search(r"version (\d+)", subprocess.run([name, "--version"], capture_output=True, text=True).stdout)
        if found and int(found[1]) >= 16:
            return name
    return None


def check(name, build, unit):
    # Flags of g++ that clang does not know are no findings.
    run = subprocess.run([name, "--quiet", "-p", build, "--extra-arg=-Wno-unknown-warning-option",
                          "--extra-arg=-Wno-error", unit], capture_output=True, text=True)
    found = [line for line in re.findall(r"^\S+?:\d+:\d+: (?:warning|error): .*$", run.stdout, re.M)
             if "[clang-diagnostic-" not in line]  # g++ gives its own
    if run.returncode != 0 and not run.stdout:
        found = [f"{unit}: {run.stderr.strip()[-400:]}"]
    return found, run.stdout


def main():
    build = pathlib.Path(sys.argv[1])
    name = tool()
    if name is None:
        print("SKIP: there is no clang-tidy 16 or newer (apt-get install clang-tidy-16)", file=sys.stderr)
        return 77
    entries = json.loads((build / "compile_commands.json").read_text())
    units = [str((build / entry["file"]).resolve()) if not os.path.isabs(entry["file"]) else entry["file"]
             for entry in entries if entry["output"].startswith("src/")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda unit: check(name, str(build), unit), units))
    found = sorted({line for lines, _ in results for line in lines})
    for line in found:
        print(re.sub(r"\S*/\.\./", "", line))
    print(f"{len(units)} units, {len(found)} findings of {name}")
    return 1 if found else 0


sys.exit(main())
