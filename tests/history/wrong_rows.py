#!/usr/bin/env python3
"""Which wrong rows does lint find? wrong_rows.py RECOUNT TABLE [OPTION OF LINT...]

TABLE is PAPI's table. Each row of wrong_rows.txt replaces that of its preset on one CPU; lint then compares the table with the
original one, and a new finding about the preset counts as found. Rows with names that do not exist are refused: these are no
mistakes of meaning. The options name a libpfm4 that has the CPUs, such as --papi-source DIR. Without a table the exit
status is 77: skipped.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Shares of the rows that must be found, as error or warning, and as error.
LEAST_FOUND, LEAST_ERRORS = 0.85, 0.30
NAMES = {'unknown-event', 'unknown-mask', 'half-read', 'refused-event', 'unknown-preset', 'unchecked-cpu'}


def with_row(lines, cpu, row):
    """The table with a block of its own for the row, above the presets of components; the last row of a CPU counts."""
    block = [f'CPU,{cpu}', f'PRESET,{row}']
    end = next((i for i, line in enumerate(lines) if line.split(',')[0].strip() in ('cuda', 'rocm', 'rocp_sdk')), len(lines))
    return '\n'.join(lines[:end] + block + lines[end:]) + '\n'


def findings(recount, before, after, cpu, preset, options):
    done = subprocess.run([recount, 'lint', '--json', '--pmu', cpu, '--since', before, after, *options], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return [(f['severity'], f['rule']) for f in json.loads(done.stdout)['findings'] if preset in f['presets']]


def main():
    if len(sys.argv) < 3:
        print('SKIP: no table of PAPI')
        return 77
    recount, table, options = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    lines = pathlib.Path(table).read_text(encoding='latin1').splitlines()
    counts, kinds, wrong = collections.Counter(), collections.defaultdict(collections.Counter), 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'table.csv'
        for line in (pathlib.Path(__file__).parent / 'wrong_rows.txt').read_text().splitlines():
            if not line or line.startswith('#'):
                continue
            kind, cpu, row = line.split(' ', 2)
            preset = row.split(',')[0]
            path.write_text(with_row(lines, cpu, row), encoding='latin1')
            found = [one for one in findings(recount, table, path, cpu, preset, options) if one[1] not in ('redefined', 'dead-row')]
            if any(rule in NAMES for _, rule in found):
                print(f'{line}: not a row of existing names: {found}')
                wrong += 1
                continue
            worst = 'error' if any(s == 'error' for s, _ in found) else 'warning' if any(s == 'warning' for s, _ in found) else 'missed'
            counts[worst] += 1
            kinds[kind][worst] += 1
            print(f'{worst:8} {line}: {", ".join(sorted({rule for s, rule in found if s != "note"}))}')
    for kind, one in sorted(kinds.items()):
        print(f'{kind}: {one["error"]} errors, {one["warning"]} warnings, {one["missed"]} missed')
    total = counts.total()
    found = total - counts['missed']
    print(f'{found} of {total} found ({found / total:.0%}), {counts["error"]} as errors ({counts["error"] / total:.0%})')
    return 1 if wrong or found / total < LEAST_FOUND or counts['error'] / total < LEAST_ERRORS else 0


if __name__ == '__main__':
    sys.exit(main())
