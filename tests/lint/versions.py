#!/usr/bin/env python3
"""The version of meson.build is that of debian/changelog and of the program: versions.py ROOT PROGRAM.

From a clone, the commit that the program names exists."""
import pathlib
import re
import shutil
import subprocess
import sys


def main(root, program):
    version = re.search(r"version: '([\d.]+)'", (root / 'meson.build').read_text())[1]
    package = re.match(r'recount \(([^)]*)\)', (root / 'debian/changelog').read_text())[1]
    printed = subprocess.run([program, '--version'], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    name, built, *commit = re.fullmatch(r'(\w+) (\S+)(?: \(commit (\w+)(?:-dirty)?\))?', printed).groups()
    faults = []
    if package != version:
        faults.append(f'debian/changelog: {package} instead of {version}')
    if built != version:
        faults.append(f'{program}: {built} instead of {version}')
    if (root / '.git').exists() and shutil.which('git'):
        found = commit[0] and subprocess.run(['git', '-c', 'safe.directory=*', '-C', root, 'cat-file', '-e', commit[0] + '^{commit}']).returncode == 0
        if not found:
            faults.append(f'{program}: no such commit: {commit[0]}')
    elif commit[0]:
        faults.append(f'{program}: commit {commit[0]}, but {root} is no clone')
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
