#!/usr/bin/env python3
"""Compares the manual pages with the program: pages.py PROGRAM FOLDER; --write FOLDER writes their tables of contents.

The options that `recount COMMAND --help` lists and those that its page explains are the same set. A page of more than
LONG lines begins with a table of its sections.
"""
import pathlib
import re
import subprocess
import sys


LONG = 250


def with_contents(text):
    """The page with its table of contents, made anew."""
    text = re.sub(r'^\.Sh CONTENTS\n.*?(?=^\.Sh )', '', text, flags=re.M | re.S)
    body = re.search(r'^\.Sh (?!NAME|SYNOPSIS)', text, re.M)
    if text.count('\n') <= LONG or not body:
        return text
    lines = ['.Sh CONTENTS', '.Bl -item -compact']
    for section in re.split(r'(?m)^\.Sh ', text[body.start():])[1:]:
        parts = re.findall(r'^\.Ss (.*)$', section, re.M)
        lines += ['.It', '.Sx ' + section.splitlines()[0] + (' :' if parts else '')]
        lines += [f'.Sx {part} ,' for part in parts[:-1]] + [f'.Sx {part}' for part in parts[-1:]]
    return text[:body.start()] + '\n'.join([*lines, '.El', '']) + text[body.start():]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commands(program):
    text = output(program, '--help')
    return re.findall(r'^  (\w+) {2,}\S', text.split('commands:')[1], re.M)


def options_of_help(text):
    """Every -x and --long at the start of a line of the list."""
    found = set()
    for line in text.splitlines():
        match = re.match(r'^\s+((?:-\w|--[\w-]+)(?:,\s*(?:-\w|--[\w-]+))*)', line)
        if match:
            found.update(re.split(r',\s*', match.group(1)))
    return found


def options_of_page(text):
    """Every Fl of an `.It Fl` line: `Fl -json` is --json, `Fl o` is -o."""
    found = set()
    for line in text.splitlines():
        if line.startswith('.It Fl'):
            found.update('-' + name for name in re.findall(r'\bFl (-?\w[\w-]*)', line))
    return found


def main(program, folder):
    faults, compared = [], 0
    for path in sorted(folder.glob('*.[157]')):
        if path.read_text() != with_contents(path.read_text()):
            faults.append(f'{path.name}: its contents are out of date: run tests/lint/pages.py --write man')
    overview = (folder / 'recount.1').read_text()
    names = commands(program)
    for name in names:
        path = folder / f'recount-{name}.1'
        if not path.exists():
            faults.append(f'{path.name} is missing')
            continue
        shown, explained = options_of_help(output(program, name, '--help')), options_of_page(path.read_text())
        compared += len(shown)
        faults += [f'{path.name} does not explain {o}' for o in sorted(shown - explained)]
        faults += [f'{path.name} explains {o}, which recount {name} does not have' for o in sorted(explained - shown)]
        if f'.Xr recount-{name} 1' not in overview:
            faults.append(f'recount.1 does not refer to recount-{name}(1)')
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(names)} commands, {compared} options, {len(faults)} faults')
    return 1 if faults or not compared else 0


if __name__ == '__main__':
    if sys.argv[1] == '--write':
        for page in pathlib.Path(sys.argv[2]).glob('*.[157]'):
            page.write_text(with_contents(page.read_text()))
    else:
        sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
