#!/usr/bin/env python3
"""What the program and the libraries are linked with, and what happens where a library is absent that the program loads when
it is first used.

needed.py RECOUNT LIBRECOUNT LIBRECOUNT-PAPI"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# The C and C++ runtime; each program and library may need it.
RUNTIME = {'libstdc++', 'libm', 'libgcc_s', 'libc', 'ld-linux-x86-64', 'ld-linux-aarch64', 'libc++', 'libc++abi'}
ON_DEMAND = {'libpapi', 'libhwloc', 'libisl', 'libdw', 'libelf', 'libcapstone'}
faults = []


def expect(true, message):
    if not true:
        faults.append(message)


def dynamic(file, tag):
    out = subprocess.run(['readelf', '-d', file], check=True, text=True, capture_output=True, env={**os.environ, 'LC_ALL': 'C'}).stdout
    return re.findall(rf'\({tag}\).*\[(.*)\]', out)


def needed(file):
    return {re.sub(r'\.so.*', '', name) for name in dynamic(file, 'NEEDED')} - RUNTIME


def run(recount, hidden, *arguments):
    """With each of the `hidden` libraries replaced by a file that cannot be loaded."""
    with tempfile.TemporaryDirectory() as folder:
        for name in hidden:
            (pathlib.Path(folder) / name).write_bytes(b'')
        env = {**os.environ, 'LD_LIBRARY_PATH': folder, 'LC_ALL': 'C', 'XDG_STATE_HOME': folder, 'COLUMNS': '100'}
        done = subprocess.run([recount, *arguments], text=True, capture_output=True, env=env)
    return done.returncode, done.stdout, ' '.join(done.stderr.split())


def absent(recount, files):
    """`files`: of the libraries that are loaded on demand."""
    status, out, err = run(recount, files, '--version')
    expect(status == 0 and out.startswith('recount '), f'--version without them: {status} {err}')
    status, out, err = run(recount, files, 'events', 'PAGE-FAULTS')
    expect(status == 0, f'events without them: {status} {err}')
    for file in files:
        status, out, err = run(recount, [file], '--version', '-v')
        package = re.sub(r'\.so\.', '', file)
        expect(status == 3, f'--version -v without {file}: status {status} instead of 3')
        expect(re.search(rf'recount: {re.escape(file)}: the library cannot be loaded: .*{re.escape(file)}.* fix: .*apt-get install {re.escape(package)}\)', err),
               f'--version -v without {file}: {err}')


def main(recount, library, papi):
    expect(needed(library) == {'libpfm'}, f'{library} needs {sorted(needed(library))}')
    expect(needed(papi) == {'libpfm', 'libpapi'}, f'{papi} needs {sorted(needed(papi))}')
    for file in (library, papi):
        base = re.sub(r'\.so.*', '', pathlib.Path(file).name)
        expect(dynamic(file, 'SONAME')[0].startswith(base + '.so.'), f'{file}: the name inside is another')
    if needed(recount) & ON_DEMAND:  # all of them, where the build says so
        expect(ON_DEMAND <= needed(recount) | {'libelf'}, f'{recount} needs {sorted(needed(recount))}')
        print('this build loads no library on demand')
    else:
        # Versions are asked of these.
        known = subprocess.run(['strings', '-a', recount], check=True, text=True, capture_output=True).stdout.split()
        absent(recount, sorted({n for n in known if re.fullmatch(r'lib(papi|hwloc|dw|capstone)\.so\.[\d.]+', n)}))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:4]))
