#!/usr/bin/env python3
"""Would propose have written the rows that PAPI added later? proposals.py RECOUNT OLD-TABLE NEW-TABLE [OPTION OF LINT...]

For each CPU that only NEW-TABLE has, rows are proposed from OLD-TABLE and compared with those of NEW-TABLE by `recount lint
--since`, which compares formulas as algebra over encodings. The options name a libpfm4 that has the CPUs, such as
--papi-source DIR. Without tables the exit status is 77: skipped.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Shares of the rows that must be proposed equal, may differ, and of rows of high confidence that must be equal.
LEAST_EQUAL, MOST_DIFFERENT, LEAST_HIGH = 0.78, 0.12, 1


def blocks(text):
    """CPU -> preset -> row. The rows of components follow those of CPUs and are left out."""
    found, names, rows = collections.defaultdict(dict), [], True
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(',')]
        if fields[0].upper() == 'CPU' and len(fields) > 1:
            names, rows = ([] if rows else names) + [fields[1].lower()], False
        elif fields[0].upper() in ('PRESET', 'EVENT') and len(fields) > 1:
            rows = True
            for name in names:
                found[name][fields[1]] = line
        elif fields[0] and not fields[0].startswith('#'):
            names = []
    return found


def run(recount, *words):
    return subprocess.run([recount, *map(str, words)], capture_output=True, text=True)


def compared(recount, cpu, proposed, rows, options, version):
    """Preset -> whether the proposed formula equals that of the table; presets that only one side has are not in it."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder) / 'before.csv', pathlib.Path(folder) / 'after.csv'
        before.write_text('\n'.join([f'CPU,{cpu}', *proposed.values()]) + '\n')
        after.write_text('\n'.join([f'CPU,{cpu}', *rows.values()]) + '\n')
        done = run(recount, 'lint', '--json', '--papi-version', version, '--fail-on', 'none', '--since', before, after, *options)
    changed = {change['preset'] for change in json.loads(done.stdout)['since']['formulas']}
    return {preset: preset not in changed for preset in proposed.keys() & rows.keys()}


def main():
    if len(sys.argv) < 4:
        print('SKIP: no tables of PAPI')
        return 77
    recount, options = os.path.abspath(sys.argv[1]), sys.argv[4:]
    old, new = (pathlib.Path(path).read_text(encoding='latin1') for path in sys.argv[2:4])
    version = '7.3' if any(line.startswith('cuda,') for line in new.splitlines()) else '7.0'
    before, after = blocks(old), blocks(new)
    total, high = collections.Counter(), collections.Counter()
    for cpu in sorted(after.keys() - before.keys()):
        done = run(recount, 'propose', '--pmu', cpu, '--table', sys.argv[2], '--papi-version', version, '--json', *options)
        if done.returncode == 2:
            continue  # no libpfm4 has it
        proposals = json.loads(done.stdout)
        proposed = {row['preset']: row['row'] for row in proposals['rows']}
        same = compared(recount, cpu, proposed, after[cpu], options, version)
        one = collections.Counter(equal=sum(same.values()), different=len(same) - sum(same.values()), missing=len(after[cpu].keys() - proposed.keys()),
                                  extra=len(proposed.keys() - after[cpu].keys()))
        total += one
        for row in proposals['rows']:
            if row['confidence'] == 'high' and row['preset'] in same:
                high['right' if same[row['preset']] else 'wrong'] += 1
        print(f'{cpu}: {dict(one)}; different: {" ".join(sorted(preset for preset, equal in same.items() if not equal)) or "-"}')
    rows = total['equal'] + total['different'] + total['missing']
    if rows == 0:
        print('SKIP: no CPU was added')
        return 77
    equal, different = total['equal'] / rows, total['different'] / rows
    right = high['right'] / max(1, high.total())
    print(f'{rows} rows: {equal:.0%} equal, {different:.0%} different, {total["missing"] / rows:.0%} missing; {total["extra"]} extra; '
          f'high confidence right in {high["right"]} of {high.total()}')
    return 0 if equal >= LEAST_EQUAL and different <= MOST_DIFFERENT and right >= LEAST_HIGH else 1


if __name__ == '__main__':
    sys.exit(main())
