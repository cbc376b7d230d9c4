#!/usr/bin/env python3
"""Plants the errors of plants.txt one at a time and runs the tests that must notice them.

tests/emulate/plants.py [--ninja 'COMMAND...'] BUILD

The sources are changed and restored: use a checkout that nobody else builds. Two tests are run: the kernels, decoded under
recount emulate --exact, and the tallies and bounds of unit-kernel. Exit status: 1 if an error is noticed by neither. Takes half a
minute for each error.
"""
import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
TARGETS = ("src/recount", "tests/emulate/emulate-kernels", "tests/unit/unit-kernel")


def plants():
    for line in (HERE / "plants.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield [cell.strip() for cell in line.split(" | ")]


def noticed(build):
    """The tests that fail."""
    programs = {
        "decoded": [build / TARGETS[0], "emulate", "--exact", "-q", HERE / "presets.pmu", "--", build / TARGETS[1]],
        "bounds": [build / TARGETS[2], "--run_test=bounds,tallies"]}
    return [name for name, command in programs.items()
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ninja")
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args()
    ninja = options.ninja.split() if options.ninja else ["ninja", "-C", options.build]

    def build(targets=TARGETS[1:]):
        subprocess.run([*ninja, *targets], cwd=SOURCE, stdout=subprocess.DEVNULL, check=True)

    build(TARGETS)
    if before := noticed(options.build):
        sys.exit(f"these tests fail without any error planted: {before}")
    unnoticed = number = 0
    for name, text, replacement in plants():
        file = SOURCE / name
        right = file.read_text()
        if text not in right:
            sys.exit(f"{name} has no \"{text}\"")
        try:
            file.write_text(right.replace(text, replacement, 1))
            build()
            by = noticed(options.build)
        finally:
            file.write_text(right)
        number += 1
        unnoticed += not by
        print(f"{', '.join(by) or 'NOTHING'}: {name}: {text} -> {replacement}", flush=True)
    print(f"{number} errors, {number - unnoticed} noticed")
    sys.exit(1 if unnoticed else 0)


main()
