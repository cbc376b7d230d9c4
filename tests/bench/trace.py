#!/usr/bin/env python3
"""Programs under the model against cachegrind: trace.py RECOUNT [RUNS]. Wall times, as ratios of the same run.

Each program runs in turn under cachegrind with two levels, under recount with two levels, under recount with three levels
and TLBs, and under Valgrind without a tool, which bounds what any tool can reach; the ratio is that of the least times. Asked: two levels below 0.5, three levels and TLBs at most 1. Also printed: the
L1 misses of the product of doubles at n = 600 by the program, by cachegrind and by the built-in kernel.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'trace'))
import programs  # noqa: E402

RECOUNT = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
CACHEGRIND = ['valgrind', '--tool=cachegrind', '--cache-sim=yes', '--trace-children=yes', '--cachegrind-out-file=/dev/null',
              '--D1=32768,8,64', '--LL=262144,4,64']
NONE = ['valgrind', '--tool=none', '--trace-children=yes']
QUERY = ('with recursive t(i) as (select 1 union all select i + 1 from t where i < 200000) '
         'select count(*), sum(i * i % 97) from t group by i % 50 order by 2 limit 1')


def recount(machine, events='PAPI_L1_DCM,PAPI_L2_DCM'):
    return [RECOUNT, 'stat', '--json', '-e', events, '--witness', f'model:{machine}', '--']


def seconds(command, folder):
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace',
                          check=True)
    return time.monotonic() - begin, done.stdout, done.stderr


def subjects(folder):
    programs.build(folder, 'product')
    text = folder / 'text'
    text.write_bytes(b''.join(f'{i * i % 9973} {i}\n'.encode() for i in range(60000)))
    return {'product of doubles, n = 600': ['./product', '600'], 'sqlite3': ['sqlite3', ':memory:', QUERY], 'xz': ['xz', '-c', 'text'],
            'python3': ['/usr/bin/python3', '-c', 'print(sum(i * i for i in range(1000000)))'],
            'gcc': ['gcc', '-O2', '-c', '-o', 'product.o', 'product.c']}


def ratios(folder):
    print(f'{"program":<28} {"two levels":>11} {"three, TLBs":>12} {"no tool":>8}   wall time / that of cachegrind with two levels')
    print('no tool: valgrind --tool=none, which only executes; recount needs a second CPU besides '
          f'({len(os.sched_getaffinity(0))} here, load {os.getloadavg()[0]:.1f})')
    for name, words in subjects(folder).items():
        if words[0] != './product' and not shutil.which(words[0]):
            print(f'{name:<28} skipped: {words[0]} is not installed')
            continue
        commands = {'cachegrind': CACHEGRIND, 'none': NONE, 'two': recount('i7-9700~no-tlb'),
                    'three': recount('i7-9700-l3', 'PAPI_L1_DCM,PAPI_L2_DCM,PAPI_L3_DCM,PAPI_TLB_DM')}
        least = {key: 1e9 for key in commands}
        for _ in range(RUNS):
            for key, command in commands.items():
                least[key] = min(least[key], seconds(command + words, folder)[0])
        print(f'{name:<28} {least["two"] / least["cachegrind"]:>11.2f} {least["three"] / least["cachegrind"]:>12.2f} '
              f'{least["none"] / least["cachegrind"]:>8.2f}', flush=True)


def misses(folder):
    machine = 'i7-9700~no-tlb'

    def program(*words):
        out = seconds(recount(machine, 'PAPI_L1_DCM') + ['./product', *words], folder)[1]
        return json.loads(out[out.index('{'):])['metrics'][0]['mean']
    whole, without = program('600'), program('600', 'without')
    said = seconds(CACHEGRIND + ['./product', '600'], folder)[2]
    other = int(re.search(r'D1 +misses: +([\d,]+)', said)[1].replace(',', ''))
    kernel = seconds([RECOUNT, 'sweep', 'matmul', '--variant', 'ijk', '--element', 'f64', '--n', '600', '--witness', f'model:{machine}',
                      '--metric', 'PAPI_L1_DCM', '-r', '1', '-q', '--sample', 'never', '-o', '-'], folder)[1]
    kernel = [row['value'] for row in map(json.loads, kernel.splitlines()) if row.get('metric') == 'PAPI_L1_DCM'][0]
    print(f'L1 misses at n = 600: program {whole:.0f}, cachegrind {other} (ratio {whole / other:.4f}); '
          f'product alone {whole - without:.0f}, built-in kernel {kernel} (ratio {(whole - without) / kernel:.4f})')
    return abs(whole / other - 1) < 0.005 and abs((whole - without) / kernel - 1) < 0.005


def main():
    if not shutil.which('valgrind') or not shutil.which('gcc'):
        print('needs valgrind and gcc')
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ratios(folder)
        return 0 if misses(folder) else 1


if __name__ == '__main__':
    sys.exit(main())
