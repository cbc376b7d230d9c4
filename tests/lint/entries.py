#!/usr/bin/env python3
"""What is listed in a table has its entry in the manual: entries.py ROOT PROGRAM.

Rules of lint, figures, machines, metrics and kernels; CONTRIBUTING.md names the files of each. The files that it
lists for two commands exist.
"""
import pathlib
import re
import subprocess
import sys


def items(page):
    """The words of every `.It Cm` and `.Cm` line, severities left out."""
    words = set()
    for line in page.read_text().splitlines():
        if match := re.match(r'\.(?:It )?Cm (.*)', line):
            words.update(re.split(r'[\s,]+', re.sub(r' Pq .*', '', match[1]).replace('model:', '')))
    return {w.strip('.') for w in words}


def listed(root, program):
    """(what, its names, the page)."""
    figures = subprocess.run([program, 'plot', '--list'], check=True, capture_output=True, text=True).stdout
    yield 'figure', re.findall(r'^([a-z][\w-]*) ', figures, re.M), 'recount-plot.1'
    rules = (root / 'src/count/lint/data/rules.txt').read_text()
    yield 'rule', re.findall(r'^([\w-]+) \| ', rules, re.M), 'recount-lint.1'
    yield 'machine', [p.stem for p in sorted((root / 'src/model/data').glob('*.json'))], 'recount-machines.5'


def main(root, program):
    faults, seen = [], 0
    for what, names, page in listed(root, program):
        if not names:
            faults.append(f'no {what} found: this test reads the wrong place')
        there = items(root / 'man' / page)
        seen += len(names)
        faults += [f'{what} {name} has no entry in {page}' for name in names if name not in there]
    kernels = subprocess.run([program, 'sweep', '--help'], check=True, capture_output=True, text=True).stdout
    page = (root / 'man/recount-kernels.7').read_text()
    names = re.findall(r'^([a-z][\w-]*)  ', kernels, re.M)
    seen += len(names)
    faults += [f'kernel {name} is not in recount-kernels.7' for name in names if not re.search(rf'\b{re.escape(name)}\b', page)]
    if not names:
        faults.append('no kernel found: this test reads the wrong place')
    metrics = re.findall(r'^metric (\S+)((?:\n  .*)*)', (root / 'src/count/metric/data/recount.metrics').read_text(), re.M)
    seen += len(metrics)
    faults += [f'metric {name} has no {field}' for name, body in metrics for field in ('unit', 'formula', 'prose') if f'\n  {field} ' not in body]
    guide = (root / 'CONTRIBUTING.md').read_text().partition('## Two commands, file by file')[2].partition('\n## ')[0]
    files = {f'src/{path}.cpp' for path in re.findall(r'`([a-z_]+(?:/[a-z_]+)+)(?:\.cpp)?`', guide)}
    seen += len(files)
    faults += [f'CONTRIBUTING.md names {file}, which does not exist' for file in sorted(files) if not (root / file).is_file()]
    if not files:
        faults.append('no file found in CONTRIBUTING.md: this test reads the wrong place')
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{seen} entries, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
