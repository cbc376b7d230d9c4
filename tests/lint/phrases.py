#!/usr/bin/env python3
"""Rejects phrases that are not the usual terms of the field: phrases.py ROOT. A line "phrase: allowed" is none.

Read are the sources, the public headers, the manual pages, the tests and the top-level pages. A pattern that never
matches its own example is a fault as well, so that no pattern goes blind.
"""
import pathlib
import re
import sys

COUNTED = '(?:misses|cycles|accesses|reads|loads|stores|calls|samples|events|operations|instructions|turns|runs|values|points)'
# (pattern, an example that it must find, what to write)
PHRASES = [
    (COUNTED + r'(?: of [A-Za-z0-9]+)? an? (?:access|second|instruction|call|line|step|level|point|process|turn|row|page|run)\b',
     'misses of L1d an access', 'L1d misses per access'),
    (r'\b(?:curve|line|object|MB|MiB|shown) an? (?:size|place|finding|rule|core)\b', 'one curve a size', 'one curve per size'),
    (r'\bthreads? a core\b|\bvalues? a line\b|\bpictures? a page\b|\brepetitions? a point\b', 'threads a core', 'threads per core'),
    (r'\bso (?:often|many) (?:times|lines|milliseconds)\b', 'so many milliseconds', 'N milliseconds'),
    (r'\bonce in vain\b', '// once in vain', 'warm-up'),
    (r'\bwould have been contradicted\b', 'It would have been contradicted by', 'Falsified if'),
    (r'\btook turns on the counters\b', 'events took turns on the counters', 'multiplexed'),
    (r'\bmakes? of (?:it|them|all)\b', 'what the caches make of it', 'cache behaviour'),
    (r'\bin doubt\b', '24 repetitions in doubt', 'disturbed'),
    (r'\bcould be found out\b', 'nothing could be found out', 'could be determined'),
    (r'\bnever put on the PMU\b', 'opens but is never put on the PMU', 'never scheduled'),
    (r'\bis no process id\b', 'is no process id', 'invalid PID'),
    (r'\bwhat happened once\b', 'what happened once is counted twice', 'the same event'),
    (r'\bfigures of speech\b|\bin short\b|\bsmall print\b', 'In short', 'summary, caption'),
    (r'\bwhat (?:it|they) (?:says?|tells?) of\b', 'what it says of', 'what it states about'),
    (r'\bsay(?:s)? what would be run\b', 'say what would be run, and stop', 'print the plan and exit'),
    (r'\bflies alone\b', 'A timed run flies alone', 'timed runs are exclusive'),
    (r'\bthe quietest\b', 'default: the quietest', 'the least disturbed CPU'),
    (r'\bleaving out what is there\b', 'continue FILE, leaving out what is there', 'run only what is missing'),
    (r'\b(?:stands|lives) (?:in|beside|at) the\b', 'what stands in the table', 'is in the'),
    (r"\bless the other's\b", "this product's less the other's", 'difference'),
    (r'\blook(?:s)? on at\b', 'look on at what another watches', 'connect to'),
    (r'\b(?:lower|higher|upper|this|each|every|own) rooms?\b(?! for)', 'lower rooms', 'folder'),
]
FOLDERS = ('src', 'include', 'man', 'tests', 'scripts')
SUFFIXES = {'.cpp', '.hpp', '.h', '.in', '.def', '.py', '.build', '.txt', '.md', '.1', '.5', '.7', '.sh', ''}
SELF = 'tests/lint/phrases.py'


def texts(root):
    for path in sorted(root.glob('*')):
        if path.suffix == '.md' or path.name in ('Makefile', 'meson.build', 'meson_options.txt'):
            yield path
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob('*')):
            if path.is_file() and path.suffix in SUFFIXES and 'data' not in path.parts and str(path.relative_to(root)) != SELF:
                yield path


def main(root):
    patterns = [(re.compile(pattern, re.I), better) for pattern, _, better in PHRASES]
    faults = [f'pattern {pattern!r} does not find its example {example!r}'
              for pattern, example, _ in PHRASES if not re.search(pattern, example, re.I)]
    for path in texts(root):
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            for pattern, better in patterns:
                if match := pattern.search(line):
                    faults.append(f'{path.relative_to(root)}:{number}: "{match[0]}": write "{better}"')
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(PHRASES)} phrases, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1])))
