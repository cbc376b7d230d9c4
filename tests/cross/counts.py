#!/usr/bin/env python3
"""The blocks of aarch64 count what their tables say: each is run under qemu-aarch64, one instruction at a time, and
the disassembly tells what was executed. Skips (77) where the cross compiler or the emulator is missing.

usage: counts.py SOURCES INCLUDE
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PREFIX = 'aarch64-linux-gnu-'
MADE = 0x10000000  # where the program makes code
FLOATING = re.compile(r'f(add|mul|div|madd|mla|sqrt|recpe)$')
KIND = {'add': 'adds', 'mul': 'multiplies', 'div': 'divides', 'madd': 'fmas', 'mla': 'fmas', 'sqrt': 'roots', 'recpe': 'inversions'}
ELEMENT = {'h': ('half', 16), 's': ('single', 32), 'd': ('double', 64)}
INTEGER = {'add', 'subs', 'mul', 'udiv', 'madd', 'and'}
CONDITIONAL = re.compile(r'b\.\w+$|cbn?z$|tbn?z$')


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def kinds(mnemonic, operands):
    """What one instruction counts, by its name alone."""
    tally = collections.Counter(instructions=1)
    loads, stores = re.match(r'ldr|ldp|ldxr', mnemonic), re.match(r'str|stp|stxr', mnemonic)
    if loads or stores:
        tally.update(loads=1 if loads else 0, stores=1 if stores else 0, transfers=1)
    if mnemonic == 'stxr':
        tally.update(conditional_stores=1)
    if CONDITIONAL.match(mnemonic):
        tally.update(conditional=1)
    elif mnemonic in ('b', 'bl', 'br', 'ret'):
        tally.update(unconditional=1)
    if mnemonic in INTEGER:
        tally.update(integer=1)
    if mnemonic in ('dmb', 'dsb'):
        tally.update(fences=1)
    if mnemonic == 'prfm':
        tally.update(prefetches=1)
    if floating := FLOATING.match(mnemonic):
        first = operands.split(',')[0]
        packed = '.' in first
        name, bits = ELEMENT[first[-1] if packed else first[0]]
        lanes = 128 // bits if packed else 1
        kind = KIND[floating[1]]
        tally.update({'fp': 1, kind: 1, f'{name}_ops': lanes * (2 if kind == 'fmas' else 1)})
        if packed:
            tally.update({'vectors': 1, f'{name}_vectors': 1})
    return tally


def disassembly(*arguments):
    """Address -> (mnemonic, operands)."""
    code = {}
    for line in run(PREFIX + 'objdump', '--no-show-raw-insn', *arguments).splitlines():
        if match := re.match(r'\s+([0-9a-f]+):\s+(\S+)\s*(.*)', line):
            code[int(match[1], 16)] = (match[2], match[3])
    return code


def executions(program, folder):
    """What the program claimed, the addresses executed in its blocks, call by call, and what stands there."""
    symbols = [line.split() for line in run(PREFIX + 'nm', '-S', program).splitlines() if ' recount_kernel_' in line]
    first, last = min(int(s[0], 16) for s in symbols), max(int(s[0], 16) + int(s[1], 16) for s in symbols) - 1
    log, made = folder / 'log', str(folder / 'made')
    claims = run('qemu-aarch64', '-cpu', 'max', '-singlestep', '-d', 'exec,nochain', '-dfilter',
                 f'{first:#x}..{last:#x},{MADE:#x}+0x300000', '-D', str(log), program, made).splitlines()
    trace = [int(match[1], 16) for match in re.finditer(r'^Trace \d+: \S+ \[\w+/(\w+)', log.read_text(), re.M)]
    return claims, trace, disassembly('-d', program) | disassembly(
        '-D', '-b', 'binary', '-m', 'aarch64', f'--adjust-vma={MADE:#x}', made)


def taken(address, follower, operands):
    """Whether a conditional branch was taken. None leads to the next instruction, where the log would not tell."""
    target = int(re.search(r'(?:^|, )(?:0x)?([0-9a-f]{5,})\b', operands)[1], 16)
    assert target != address + 4
    return follower == target


def main(sources, include):
    for tool in (PREFIX + 'g++', 'qemu-aarch64'):
        if not shutil.which(tool):
            print(f'SKIP: {tool} is not installed', file=sys.stderr)
            return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = str(folder / 'blocks')
        here = pathlib.Path(__file__).parent
        subprocess.run([PREFIX + 'g++', '-std=c++20', '-O2', '-static', '-Wall', '-Werror', '-ffunction-sections', '-Wl,--gc-sections', '-I', include, '-I', f'{include}/../include', '-o', program,
                        str(here / 'blocks.cpp'), f'{sources}/native_blocks.cpp', f'{sources}/block_kernel.cpp'], check=True)
        claims, trace, code = executions(program, folder)
    faults, at = [], 0
    for claim in claims:
        words = claim.split()
        entry, expected = int(words[1], 16), {k: float(v) for k, v in (w.split('=') for w in words[2:])}
        if at == len(trace) or trace[at] != entry:
            faults.append(f'{words[0]}: was not entered')
            break
        counted, depth = collections.Counter(), 1
        while depth > 0: # until the return that belongs to the call
            mnemonic, operands = code[trace[at]]
            one = kinds(mnemonic, operands)
            depth += {'bl': 1, 'ret': -1}.get(mnemonic, 0)
            counted.update(one)
            if one['conditional']:
                counted['taken'] += taken(trace[at], trace[at + 1], operands)
            at += 1
        for kind, value in expected.items():
            if counted[kind] != value:
                faults.append(f'{words[0]}: {kind} executed {counted[kind]}, claimed {value:g}')
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(claims)} calls, {len(faults)} faults')
    return 1 if faults or len(claims) < 100 else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
