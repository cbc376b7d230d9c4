#!/usr/bin/env python3
"""Does lint flag the rows that PAPI corrected later? corrections.py RECOUNT PAPI-CHECKOUT [OPTION OF LINT...]

PAPI-CHECKOUT is a clone of github.com/icl-utk-edu/papi with its history. Each correction of corrections.txt is linted
before and after; the outcomes that differ from that file are printed, and give exit status 1. Without a checkout (argument
or PAPI_CHECKOUT) the exit status is 77: skipped.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Share of the corrections that must be flagged as error or warning in the version before them.
LEAST_SHARE = 55 / 59
# A correction that introduced a mistake, and the presets with the new error.
INTRODUCED = {'db9c70f51': {'PAPI_L2_DCW', 'PAPI_L2_TCW'}}
# Adds rows of one CPU that another one has already.
ADDS_ONLY = 'be7dd9470'


def git(checkout, *words):
    return subprocess.run(['git', '-C', checkout, *words], check=True, capture_output=True).stdout


def rows(table):
    """CPU -> preset -> type, formula and terms, as PAPI groups them."""
    found, block, ended = {}, [], True
    for line in table.decode('latin1').splitlines():
        fields = [field.strip() for field in line.split(',')]
        if not line.strip() or line.strip().startswith('#'):
            continue
        if fields[0].upper() == 'CPU' and len(fields) > 1:
            block, ended = ([] if ended else block) + [fields[1].lower()], False
            found.setdefault(fields[1].lower(), {})
            continue
        ended = True
        if fields[0].upper() in ('PRESET', 'EVENT') and len(fields) > 2:
            terms = []
            for field in fields[2:]:
                if field.upper() in ('NOTE', 'LDESC', 'SDESC'):
                    break
                terms += [field] if field else []
            for cpu in block:
                found[cpu][fields[1]] = terms
    return found


def lint(recount, table, options):
    """(CPU, preset) -> rules of errors and warnings; and the CPUs that were not checked."""
    with tempfile.TemporaryDirectory() as folder:
        path, prints = pathlib.Path(folder) / 'table.csv', pathlib.Path(folder) / 'prints'
        path.write_bytes(table)
        out = subprocess.run([recount, 'lint', path, '--json', '--write-baseline', prints, *options], check=True, capture_output=True).stdout
        lines = prints.read_text().splitlines()[1:]
    report = json.loads(out)
    worse = {finding['rule'] for finding in report['findings'] if finding['severity'] != 'note'}
    flagged = collections.defaultdict(set)
    for _, rule, cpu, preset in (line.split('\t') for line in lines):
        if rule in worse:
            flagged[cpu.lower(), preset].add(rule)
    return flagged, {cpu.lower() for part in report['tables'] for cpu in part['names_not_checked']}


def corrected(before, after):
    """The pairs of CPU and preset that changed, and the names of CPUs that did."""
    pairs = {(cpu, preset) for cpu in before.keys() & after.keys() for preset, terms in before[cpu].items() if after[cpu].get(preset) != terms}
    revived = {('', preset) for cpu in before.keys() & after.keys() for preset in after[cpu].keys() - before[cpu].keys()}
    return pairs, revived, before.keys() - after.keys()


def outcome(recount, checkout, commit, options):
    tables = [git(checkout, 'show', f'{commit}{which}:src/papi_events.csv') for which in ('^', '')]
    pairs, revived, renamed = corrected(*map(rows, tables))
    (before, unchecked), (after, _) = (lint(recount, table, options) for table in tables)
    flagged = {(pair, rule) for pair in pairs | revived for rule in before.get(pair, ())}
    stays = {(pair, rule) for pair in pairs | revived for rule in after.get(pair, ())}
    gone = flagged - stays | {((cpu, ''), 'unchecked-cpu') for cpu in renamed & unchecked}
    rules = collections.Counter(rule for _, rule in (gone or flagged))
    return 'resolved' if gone else 'flagged' if flagged else 'missed', rules


def since(recount, checkout, commit, options):
    """New findings of a commit, as (severity, rule, preset), and the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        for name, which in (('old.csv', '^'), ('new.csv', '')):
            (pathlib.Path(folder) / name).write_bytes(git(checkout, 'show', f'{commit}{which}:src/papi_events.csv'))
        done = subprocess.run([recount, 'lint', '--since', 'old.csv', 'new.csv', '--json', *options], cwd=folder, capture_output=True)
    return done.returncode, {(f['severity'], f['rule'], preset) for f in json.loads(done.stdout)['findings'] for preset in f['presets'] or ['']}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    recount = os.path.abspath(sys.argv[1])
    checkout = sys.argv[2] if len(sys.argv) > 2 else os.environ.get('PAPI_CHECKOUT', '')
    options = sys.argv[3:]
    if not checkout:
        print('SKIP: no clone of PAPI; set PAPI_CHECKOUT')
        return 77
    wrong, count = 0, collections.Counter()
    for line in (pathlib.Path(__file__).parent / 'corrections.txt').read_text().splitlines():
        if line.startswith('#'):
            continue
        commit, expected, *reason = line.split(' ', 2)
        found, rules = outcome(recount, checkout, commit, options)
        count[found] += 1
        wrong += found != expected
        title = git(checkout, 'log', '-1', '--format=%ad %s', '--date=short', commit).decode()[:60].strip()
        print(f'{commit} {found:8} {"" if found == expected else "EXPECTED " + expected + " "}{title}: {", ".join(sorted(rules)) or "".join(reason)}')
    total = count.total()
    print(f'{total - count["missed"]} of {total} corrections flagged before ({count["resolved"]} of them resolved after), {count["missed"]} missed')
    if (total - count['missed']) / total < LEAST_SHARE:
        wrong += 1
        print(f'fewer than {LEAST_SHARE:.0%} are flagged')
    for commit, presets in INTRODUCED.items():
        status, findings = since(recount, checkout, commit, options)
        new = {preset for severity, _, preset in findings if severity == 'error'}
        print(f'{commit} introduces errors in {", ".join(sorted(new))}, exit status {status}')
        wrong += not (presets <= new and status == 1)
    status, findings = since(recount, checkout, ADDS_ONLY, options)
    findings = {one for one in findings if one[1] != 'unchecked-cpu'}  # libpfm4 4.13 does not know gnr
    print(f'{ADDS_ONLY} adds {len(findings)} findings, exit status {status}')
    wrong += status != 0 or bool(findings)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
