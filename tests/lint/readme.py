#!/usr/bin/env python3
"""Every command and option of recount that README.md names exists: readme.py ROOT PROGRAM."""
import pathlib
import re
import shlex
import subprocess
import sys


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def commands_in(text):
    """The words of each command line of recount, in blocks and between back-quotes."""
    blocks = [block.replace('\\\n', ' ') for block in re.findall(r'```sh\n(.*?)```', text, re.S)]
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r'`([^`\n]+)`', re.sub(r'```.*?```', '', text, flags=re.S))
    for line in lines:
        if match := re.search(r'\brecount [a-z-].*', line):
            yield shlex.split(re.split(r'\s[|>]|\)$|;\s', match[0])[0], comments=True)[1:]


def main(root, program):
    names = re.findall(r'^  (\w+) {2,}\S', output(program, '--help').split('commands:')[1], re.M)
    kernels = re.findall(r'^([a-z][\w-]*)  ', output(program, 'sweep', '--help'), re.M)
    faults, seen = [], set()
    for command, *words in commands_in((root / 'README.md').read_text()):
        if command == '--version':
            continue
        if command not in names:
            faults.append(f'no such command: recount {command}')
            continue
        seen.add(command)
        text = output(program, command, '--help') + ''.join(output(program, 'sweep', '--help', w) for w in words[:1] if w in kernels)
        if '--' in words:
            words = words[:words.index('--')]
        for word in words:
            if word.startswith('-') and word != '-' and not re.search(rf'(?<![\w-]){re.escape(word.split("=")[0])}(?![\w-])', text):
                faults.append(f'recount {command} has no {word}')
    # Comparisons need three repetitions.
    faults += [f'scripts/demo: --repeat {n} is too few for a comparison' for n in
               re.findall(r'--repeat (\d+)', (root / 'scripts/demo').read_text()) if int(n) < 3]
    # The table of questions has every command.
    faults += [f'README.md does not name recount {name}' for name in names if name not in seen]
    for fault in faults:
        print(fault)
    print(f'{len(seen)} commands, {len(faults)} faults')
    return 1 if faults or not seen else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
