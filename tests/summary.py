#!/usr/bin/env python3
"""Adds up what meson's test log holds: "N passed, N failed" alone on the last line, over single test cases.

A Boost.Test program reports its cases in a line "cases: N passed, N failed, N skipped" (tests/main.cpp), and the reason
of a skip in a line "SKIP: reason". Any other test counts as one case, and as skipped if it prints such a line.
"""
import json
import re
import sys

CASES = re.compile(r'^cases: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?$', re.M)
SKIP = re.compile(r'^\s*SKIP: (.*)$', re.M)
ERROR = re.compile(r'error: in "((?:.*\n?)(?:(?!.*(?:: (?:fatal )?error: in |: info: |\*\*\* )|Failure occurred).*\n?)*)')
UNITTEST = re.compile(r'^(?:FAIL|ERROR): (\w+).*?^((?:\w+\.)*\w+(?:Error|Expired|Exception)\b.*?)$', re.M | re.S)
ESCAPE = re.compile(r'\x1b\[[0-9;]*m')
SHOWN = 5


def count(test):
    """(passed, failed, skipped, reasons of skips) of one test of the log."""
    output = test.get('stdout', '') + '\n' + test.get('stderr', '')
    reasons = SKIP.findall(output)
    good = test['result'] in ('OK', 'EXPECTEDFAIL')
    cases = CASES.findall(output)
    if test['result'] == 'SKIP' or (good and reasons and not cases):
        return 0, 0, 1, reasons or ['no reason given']
    if not cases:
        return (1, 0, 0, []) if good else (0, 1, 0, reasons)
    passed, failed, skipped = (sum(int(line[i] or 0) for line in cases) for i in range(3))
    # It died, or hung, after the cases that it could still report.
    return passed, max(failed, 0 if good else 1), skipped, reasons


def ends(lines):
    """What was expected, and the end of what the program printed, where a sanitizer speaks."""
    return lines if len(lines) <= 2 * SHOWN else lines[:SHOWN] + ['...'] + lines[-SHOWN:]


def why(test):
    """The first errors of a failed test: of Boost.Test and unittest by case, else the last lines that it printed."""
    output = ESCAPE.sub('', test.get('stdout', '') + '\n' + test.get('stderr', ''))
    errors = [f'"{error}' for error in ERROR.findall(output)] + [': '.join(error) for error in UNITTEST.findall(output)]
    lines = [line for error in errors[:SHOWN] for line in ends(error.rstrip().splitlines())] or output.strip().splitlines()[-SHOWN:]
    return [f'  {line[:300]}' for line in lines]


def main(path):
    passed = failed = skipped = 0
    skips, failures = [], []
    try:
        with open(path, encoding='utf-8', errors='replace') as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(f'no test ran: {error}', file=sys.stderr)
        tests = []
        failed = 1
    for test in tests:
        good, bad, missing, reasons = count(test)
        passed, failed, skipped = passed + good, failed + bad, skipped + missing
        skips += [f"skipped in {test['name']}: {reason}" for reason in reasons]
        if bad:
            failures += [f"failed: {test['name']} ({test['result']}, {bad} of {good + bad} cases)", *why(test)]
    for line in skips + failures:
        print(line)
    print(f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else ''))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
