#!/usr/bin/env python3
"""Lists the functions of shared libraries that archives of recount call, for on_demand.cpp.

on_demand.py OUTPUT NM COMPILER NAME[:FOLDER]... -- ARCHIVE...: NAME as in -lNAME, FOLDER where pkg-config has it. Variables
of a library cannot be loaded on demand: an error."""
import pathlib
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def library_file(name, folder, compiler):
    here = pathlib.Path(folder) / f'lib{name}.so'
    return here if folder and here.exists() else run(*compiler, f'-print-file-name=lib{name}.so').strip()


def main():
    output, nm, compiler = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
    middle = sys.argv.index('--')
    called = set()
    for archive in sys.argv[middle + 1:]:
        called |= {line.split()[-1] for line in run(*nm, '-u', archive).splitlines() if line.startswith(' ')}
    lines = []
    for library in sys.argv[4:middle]:
        name, _, folder = library.partition(':')
        file = library_file(name, folder, compiler)
        soname = re.search(r'SONAME\s+(\S+)', run('objdump', '-p', file))[1]
        base, version = re.fullmatch(r'(.*)\.so\.(.*)', soname).groups()
        # Debian policy, 8.1: the package of libz.so.1 is libz1, that of libcrypt2.so.1 is libcrypt2-1.
        package = base.lower() + ('-' if base[-1].isdigit() else '') + version
        lines.append(f'ON_DEMAND_LIBRARY({name}, "{soname}", "{package}")')
        for line in run(*nm, '-D', '--defined-only', file).splitlines():
            kind, symbol = line.split()[-2:]
            symbol = symbol.split('@')[0]
            if symbol not in called:
                continue
            if kind not in 'TWi':
                sys.exit(f'{file}: {symbol} is a variable')
            called.remove(symbol)
            lines.append(f'ON_DEMAND({symbol}, {name})')
    pathlib.Path(output).write_text('\n'.join(lines) + '\n')


main()
