#!/usr/bin/env python3
"""What the libraries are linked with.

needed.py LIBRECOUNT LIBRECOUNT-PAPI"""
import os
import pathlib
import re
import subprocess
import sys

# The C and C++ runtime; each program and library may need it.
RUNTIME = {'libstdc++', 'libm', 'libgcc_s', 'libc', 'ld-linux-x86-64', 'ld-linux-aarch64', 'libc++', 'libc++abi'}
faults = []


def expect(true, message):
    if not true:
        faults.append(message)


def dynamic(file, tag):
    out = subprocess.run(['readelf', '-d', file], check=True, text=True, capture_output=True, env={**os.environ, 'LC_ALL': 'C'}).stdout
    return re.findall(rf'\({tag}\).*\[(.*)\]', out)


def needed(file):
    return {re.sub(r'\.so.*', '', name) for name in dynamic(file, 'NEEDED')} - RUNTIME


def main(library, papi):
    expect(needed(library) == {'libpfm'}, f'{library} needs {sorted(needed(library))}')
    expect(needed(papi) == {'libpfm', 'libpapi'}, f'{papi} needs {sorted(needed(papi))}')
    for file in (library, papi):
        base = re.sub(r'\.so.*', '', pathlib.Path(file).name)
        expect(dynamic(file, 'SONAME')[0].startswith(base + '.so.'), f'{file}: the name inside is another')
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:3]))
