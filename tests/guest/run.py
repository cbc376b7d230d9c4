#!/usr/bin/env python3
"""Builds recount and its guest tests for arm64 in DIR, where scripts/guest-sysroot has been, boots them under qemu with
an emulated PMU, and ends with one line "N passed, N failed".

  tests/guest/run.py DIR [BOOT...]     BOOT as named in jobs.py; default all
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import boot as machine  # noqa: E402
import jobs  # noqa: E402
import summary  # noqa: E402

# What goes into the guest: where it lies there -> target of the cross build.
PROGRAMS = {'guest-tests': 'tests/guest/guest-tests', 'recount': 'src/recount', 'cli-tests': 'tests/cli/cli-tests',
            'product': 'tests/guest/product'}
# Recount's Valgrind tool, what it needs, and its peer.
TOOL = 'recount-trace-arm64-linux'
VALGRIND = ['default.supp', 'vgpreload_core-arm64-linux.so', 'cachegrind-arm64-linux']
# Static, without what cannot be linked statically or has nothing to do there; as units, which take half the time.
OPTIONS = ['-Dprefer_static=true', '-Dfigures=false', '-Dsymbols=false', '-Ddebug=false', '-Dunity=on', '-Dunity_size=16']
SKIP = 77


def build(where):
    """Cross builds; does nothing when nothing has changed. Raises CalledProcessError."""
    cross, chosen = where / 'build', where / 'build-options'
    options = ' '.join(OPTIONS)
    if not chosen.exists() or chosen.read_text() != options:
        shutil.rmtree(cross, ignore_errors=True)
    if not (cross / 'build.ninja').exists():
        subprocess.run(['meson', 'setup', cross, TOP, '--cross-file', where / 'cross.ini', *OPTIONS], check=True)
        chosen.write_text(options)
    subprocess.run(['ninja', '-C', cross, f'src/model/trace/{TOOL}', *PROGRAMS.values()], check=True)


def pack(where, boots):
    """The guest's file system: busybox, the programs, and a file of steps for each job."""
    root = where / 'root'
    shutil.rmtree(root, ignore_errors=True)
    for folder in ('bin', 'etc', 'jobs', 'tables'):
        (root / folder).mkdir(parents=True)
    shutil.copy(where / 'sysroot/bin/busybox', root / 'bin')
    shutil.copy(HERE / 'init', root)
    for script in ('repeat', 'traced'):
        shutil.copy(HERE / script, root)
    for script in ('init', 'repeat', 'traced'):
        (root / script).chmod(0o755)
    (root / 'etc/passwd').write_text('root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n')
    for name, target in PROGRAMS.items():
        subprocess.run(['aarch64-linux-gnu-strip', '-o', root / name, where / 'build' / target], check=True)
    shutil.copytree(where / 'sysroot/usr/share/papi', root / 'usr/share/papi')
    (root / 'trace').mkdir()
    for file in (where / 'build/src/model/trace' / TOOL, *(where / 'sysroot/usr/libexec/valgrind' / f for f in VALGRIND)):
        shutil.copy(file, root / 'trace')
    shutil.copy(where / 'sysroot/usr/bin/valgrind.bin', root / 'trace/valgrind')  # not in PATH: other tests have none
    tables = [*HERE.glob('*.table'), *(HERE.parent / 'cli').glob('*.table')]
    for table in tables:
        shutil.copy(table, root / 'tables')
    for one in boots:
        (root / 'jobs' / one.name).write_text(''.join(f'{s.name} {s.command}\n' for s in one.steps))
    image = where / 'initramfs'
    files = '\n'.join(str(p.relative_to(root)) for p in sorted(root.rglob('*')))
    with open(image, 'wb') as out:
        subprocess.run(['cpio', '--quiet', '-o', '-H', 'newc', '-R', '0:0'], input=files.encode(), stdout=out, cwd=root,
                       check=True)
    return image


def judge(boot_name, ended):
    """The step as a test of meson's log (see tests/summary.py)."""
    good = ended.status == 0 and not ended.trouble
    output = ended.output
    if good and ended.step.cases and not summary.CASES.search(output):
        good, ended.trouble = False, 'it ended well, but reported no cases'
    result = 'OK' if good else 'SKIP' if ended.status == SKIP else 'FAIL'
    return {'name': f'{boot_name}: {ended.step.name}', 'result': result, 'stdout': output, 'stderr': ended.trouble}


def report(boot_name, ended, test):
    how = test['result'] if ended.status in (None, 0) else f"{test['result']} (status {ended.status})"
    print(f"{test['name']:<40} {how:<18} {ended.seconds:6.2f} s")
    if test['result'] == 'FAIL' or ended.step.show:
        print(test['stdout'] + (f"{ended.trouble}\n" if ended.trouble else ''), end='')


def run(where, boots):
    image = pack(where, boots)
    kernels, tests = set(), []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(machine.run, one, where / 'vmlinuz', image) for one in boots]
        for one, future in zip(boots, running):
            kernel, steps = future.result()
            kernels.add(kernel)
            for ended in steps:
                tests.append(judge(one.name, ended))
                report(one.name, ended, tests[-1])
    emulator = subprocess.run(['qemu-system-aarch64', '--version'], capture_output=True, text=True, check=True).stdout
    print(f"guest: Linux {', '.join(filter(None, kernels)) or 'that never answered'}, {emulator.splitlines()[0]}")
    log = where / 'testlog.json'
    log.write_text(''.join(json.dumps(test) + '\n' for test in tests))
    return summary.main(log)


def main():
    where = pathlib.Path(sys.argv[1]).resolve()
    wanted = sys.argv[2:]
    unknown = set(wanted) - {one.name for one in jobs.BOOTS}
    if unknown:
        sys.exit(f"no such boot: {', '.join(unknown)}; there are {', '.join(one.name for one in jobs.BOOTS)}")
    try:
        build(where)
    except subprocess.CalledProcessError as error:
        print(f'building for the guest failed: {error}\n0 passed, 1 failed')
        return 1
    return run(where, [one for one in jobs.BOOTS if not wanted or one.name in wanted])


if __name__ == '__main__':
    sys.exit(main())
