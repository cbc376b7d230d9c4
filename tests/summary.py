#!/usr/bin/env python3
"""Adds up what meson's test log holds: "N passed, N failed" alone on the last line, over single test cases.

A Boost.Test program reports its cases in a line "cases: N passed, N failed" (tests/main.cpp), a case that
could not be tried in a line "SKIP: reason"; any other test counts as one case.
"""
import json
import re
import sys

CASES = re.compile(r'^cases: (\d+) passed, (\d+) failed$', re.M)
SKIP = re.compile(r'^\s*SKIP: (.*)$', re.M)
ERROR = re.compile(r'error: in "(.*)$', re.M)
ESCAPE = re.compile(r'\x1b\[[0-9;]*m')
SHOWN = 5


def count(test):
    """(passed, failed, reasons of skips) of one test of the log."""
    output = test.get('stdout', '') + '\n' + test.get('stderr', '')
    reasons = SKIP.findall(output)
    good = test['result'] in ('OK', 'EXPECTEDFAIL')
    if test['result'] == 'SKIP':
        return 0, 0, reasons or ['no reason given']
    cases = CASES.findall(output)
    if not cases:
        return (1, 0, reasons) if good else (0, 1, reasons)
    passed = sum(int(p) for p, _ in cases) - len(reasons)
    failed = sum(int(f) for _, f in cases)
    # It died, or hung, after the cases that it could still report.
    return passed, max(failed, 0 if good else 1), reasons


def why(test):
    """The first errors of a failed test: of Boost.Test by case, else the last lines that it printed."""
    output = ESCAPE.sub('', test.get('stdout', '') + '\n' + test.get('stderr', ''))
    errors = ERROR.findall(output)
    lines = [f'"{error}' for error in errors[:SHOWN]] or output.strip().splitlines()[-SHOWN:]
    return [f'  {line[:300]}' for line in lines]


def main(path):
    passed = failed = 0
    skips = []
    try:
        with open(path, encoding='utf-8', errors='replace') as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(f'no test ran: {error}', file=sys.stderr)
        tests = []
        failed = 1
    for test in tests:
        good, bad, reasons = count(test)
        passed, failed = passed + good, failed + bad
        skips += [f"skipped in {test['name']}: {reason}" for reason in reasons]
        if bad:
            print(f"failed: {test['name']} ({test['result']}, {bad} of {good + bad} cases)", *why(test), sep='\n')
    for skip in skips:
        print(skip)
    print(f'{passed} passed, {failed} failed' + (f', {len(skips)} skipped' if skips else ''))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
