#!/usr/bin/env python3
"""What the loops of portable_loops.cpp execute, read off their disassembly by objdump.

usage: portable_counts.py OUTPUT OBJDUMP OBJECT...

Writes a row for each function: its name, the instructions of a turn of its loop, and those executed once. A function
is one loop, closed by the only branch that goes backwards; another shape is an error, and no count is guessed.
"""
import re
import subprocess
import sys

LABEL = re.compile(r'^[0-9a-f]+ <(.+)>:$')
INSTRUCTION = re.compile(r'^\s*([0-9a-f]+):\s+(\S.*)$')
BRANCH = re.compile(r'(?:^|[\s,])(?:0x)?([0-9a-f]+) <')


def functions(objdump, objects):
    """Name -> [(address, text)]."""
    found, code = {}, None
    for line in subprocess.run([objdump, '-d', '--no-show-raw-insn', *objects], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        if match := LABEL.match(line):
            if match[1].startswith('recount_kernel_'):
                code = found.setdefault(match[1].removeprefix('recount_kernel_'), [])
            elif not match[1].startswith('.L'):  # some assemblers leave the labels of loops
                code = None
        elif code is not None and (match := INSTRUCTION.match(line)):
            code.append((int(match[1], 16), re.split(r'\s*(?:#|//)\s', match[2])[0]))
    return found


def count(name, code):
    """(instructions of a turn, instructions executed once)."""
    backwards, end = [], len(code)
    for i, (address, text) in enumerate(code):
        if match := BRANCH.search(text):
            target = int(match[1], 16)
            if not code[0][0] <= target <= address:
                sys.exit(f'{name}: "{text}" leads elsewhere: not one loop')
            backwards.append((target, i))
        # What follows a return is padding.
        if i + 1 < end and re.match(r'(ret|retq|blr|jr\s+(ra|\$ra))\b', text) and end == len(code):
            end = i + 1
    if len(backwards) != 1:
        sys.exit(f'{name}: {len(backwards)} branches go backwards, not one')
    target, last = backwards[0]
    turn = sum(1 for address, _ in code[:last + 1] if address >= target)
    return turn, end - turn


def main(output, objdump, *objects):
    rows = functions(objdump, objects)
    if not rows:
        sys.exit('no function recount_kernel_... in ' + ' '.join(objects))
    with open(output, 'w', encoding='utf-8') as out:
        for name, code in sorted(rows.items()):
            turn, once = count(name, code)
            out.write(f'{{"{name}", {turn}, {once}}},\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
