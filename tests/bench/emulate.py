#!/usr/bin/env python3
"""Programs under recount emulate --exact against cachegrind: emulate.py RECOUNT [RUNS]. CPU and wall time in one run.

Each program runs in turn alone, under Valgrind without a tool, under cachegrind with caches and branches, and under recount emulate;
the least of RUNS is kept. CPU time is that of all processes: recount needs a second CPU besides, where it simulates. Wanted: at most
1.5 times the CPU time of cachegrind.
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'trace'))
import programs  # noqa: E402

RECOUNT = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
QUERY = ('with recursive t(i) as (select 1 union all select i + 1 from t where i < 100000) '
         'select count(*), sum(i * i % 97) from t group by i % 50 order by 2 limit 1')
TOOLS = {
    'native': [],
    'none': ['valgrind', '-q', '--tool=none', '--trace-children=yes'],
    'cachegrind': ['valgrind', '-q', '--tool=cachegrind', '--cache-sim=yes', '--branch-sim=yes', '--trace-children=yes',
                   '--cachegrind-out-file=/dev/null', '--D1=32768,8,64', '--I1=32768,8,64', '--LL=8388608,16,64'],
    'emulate': [RECOUNT, 'emulate', '--exact', '-q', 'skl', '--'],
}
PROGRAMS = {
    'product of doubles, n = 300': ['./product', '300'], 'sqlite3': ['sqlite3', ':memory:', QUERY], 'xz': ['xz', '-c', 'text'],
    'gzip': ['gzip', '-9', '-c', 'text'], 'bzip2': ['bzip2', '-c', 'text'], 'sort': ['sort', 'text'],
    'python3': ['/usr/bin/python3', '-c', 'print(sum(i * i for i in range(300000)))'],
    'perl': ['perl', '-e', 'my %h; $h{$_ % 997} += $_ for 1 .. 300000; print scalar keys %h'],
    'awk': ['awk', '{ s[$1 % 97] += $2 } END { for (k in s) t += s[k]; print t }', 'text'],
    'gcc': ['gcc', '-O2', '-c', '-o', 'product.o', 'product.c'],
}


def cost(command, folder):
    """CPU and wall time."""
    begin = time.monotonic()
    child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status != 0:
        raise SystemExit(f'{command}: status {status}')
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin


def measure(words, folder):
    least = {tool: (1e9, 1e9) for tool in TOOLS}
    for _ in range(RUNS):
        for tool, before in TOOLS.items():
            least[tool] = tuple(map(min, least[tool], cost(before + words, folder)))
    return least


def main():
    if not shutil.which('valgrind') or not shutil.which('gcc'):
        print('needs valgrind and gcc')
        return 77
    print(f'{len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.1f}; seconds of CPU / wall')
    print(f'{"program":<28}' + ''.join(f'{tool:>15}' for tool in TOOLS) + '   CPU, wall / cachegrind')
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs.build(folder, 'product')
        (folder / 'text').write_bytes(b''.join(f'{i * i % 9973} {i}\n'.encode() for i in range(30000)))
        for name, words in PROGRAMS.items():
            if words[0] != './product' and not shutil.which(words[0]):
                print(f'{name:<28} skipped: {words[0]} is not installed')
                continue
            least = measure(words, folder)
            ratios.append([ours / theirs for ours, theirs in zip(least['emulate'], least['cachegrind'])])
            print(f'{name:<28}' + ''.join(f'{cpu:>8.2f} /{wall:>5.2f}' for cpu, wall in least.values())
                  + f'   {ratios[-1][0]:.2f}, {ratios[-1][1]:.2f}', flush=True)
    print('median ratio to cachegrind: ' + ', '.join(f'{what} {statistics.median(column):.2f}'
                                                     for what, column in zip(('CPU', 'wall'), zip(*ratios))))
    return 0


if __name__ == '__main__':
    sys.exit(main())
