#!/usr/bin/env python3
"""Ten programs under the model against cachegrind: trace.py RECOUNT [RUNS [PROGRAM ...]]. Ratios to cachegrind in the same run.

Each program runs in turn under cachegrind with two levels, under recount with the same two levels (D1: data alone; I1: with instruction
fetches), with three levels and TLBs, and under Valgrind without a tool, which bounds what any tool can reach. CPU time is that of all
processes, recount's own included; times are the least of the runs. Asked: misses within 0.6 %, CPU with two levels at most 1, wall
below 0.5 where a second CPU is free. Also printed: the L1 misses of the product of doubles at n = 600 by the program, by cachegrind
and by the built-in kernel. tests/trace/README.md has a table.
"""
import json
import os
import pathlib
import re
import resource
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
              '--I1=32768,8,64', '--D1=32768,8,64', '--LL=262144,4,64']
NONE = ['valgrind', '--tool=none', '--trace-children=yes']
QUERY = ('with recursive t(i) as (select 1 union all select i + 1 from t where i < 200000) '
         'select count(*), sum(i * i % 97) from t group by i % 50 order by 2 limit 1')


def recount(machine, events='PAPI_L1_DCM,PAPI_L2_DCM'):
    return [RECOUNT, 'stat', '--json', '-e', events, '--witness', f'model:{machine}', '--']


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, folder):
    """Wall and CPU seconds, and what was printed."""
    begin, before = time.monotonic(), cpu_seconds()
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors='replace', env={**os.environ, 'PYTHONHASHSEED': '0', 'PERL_HASH_SEED': '0'}, check=True)
    return (time.monotonic() - begin, cpu_seconds() - before), done.stdout, done.stderr


def subjects(folder):
    programs.build(folder, 'product')
    (folder / 'text').write_bytes(b''.join(f'{i * i % 9973} {i}\n'.encode() for i in range(60000)))
    (folder / 'text.json').write_text(json.dumps([{'number': i, 'square': i * i} for i in range(20000)]))
    return {'product of doubles, n = 600': ['./product', '600'], 'sqlite3': ['sqlite3', ':memory:', QUERY], 'xz': ['xz', '-c', 'text'],
            'python3': ['/usr/bin/python3', '-c', 'print(sum(i * i for i in range(1000000)))'],
            'gcc': ['gcc', '-O2', '-c', '-o', 'product.o', 'product.c'], 'gzip': ['gzip', '-c', 'text'],
            'perl': ['perl', '-e', '$h{$_ % 977} .= $_ for 1 .. 400000; print scalar keys %h'],
            'awk': ['awk', '{ sum[$1 % 100] += $2 } END { print sum[7] }', 'text'], 'sort': ['sort', '-n', 'text'],
            'openssl': ['openssl', 'dgst', '-sha256', 'text'], 'jq': ['jq', 'map(.square) | add', 'text.json']}


def misses_of(text, name):
    """Of cachegrind, of all processes."""
    return sum(int(cell.replace(',', '')) for cell in re.findall(rf'{name} +misses: +([\d,]+)', text))


def counted(text):
    """Of the last JSON object, by event."""
    told = json.loads(text[text.rindex('{\n  "schema"'):])
    return {row['name']: row.get('mean') for row in told['metrics']}


def table(folder, only):
    print(f'{len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.1f}, least of {RUNS}')
    print('| program | D1 misses | ratio | I1 misses | ratio | CPU: cachegrind, s | two levels | and I1 | three, TLBs | no tool '
          '| wall: two levels | and I1 | three, TLBs |\n' + '|---' * 13 + '|')
    for name, words in subjects(folder).items():
        if (only and words[0].split('/')[-1] not in only) or (words[0] != './product' and not shutil.which(words[0])):
            continue
        commands = {'cachegrind': CACHEGRIND, 'none': NONE, 'two': recount('i7-9700~no-tlb'),
                    'code': recount('i7-9700~no-tlb', 'PAPI_L1_ICM,PAPI_L1_DCM,PAPI_L2_DCM'),
                    'three': recount('i7-9700-l3', 'PAPI_L1_DCM,PAPI_L2_DCM,PAPI_L3_DCM,PAPI_TLB_DM')}
        least, told = {key: (1e9, 1e9) for key in commands}, {}
        for _ in range(RUNS):
            for key, command in commands.items():
                used, out, errors = run(command + words, folder)
                least[key] = tuple(map(min, least[key], used))
                told[key] = errors if key == 'cachegrind' else out
        of_data, of_code = (misses_of(told['cachegrind'], cache) for cache in ('D1', 'I1'))
        cells = [f'{of_data:,}', f'{counted(told["two"])["PAPI_L1_DCM"] / of_data:.4f}', f'{of_code:,}',
                 f'{counted(told["code"])["PAPI_L1_ICM"] / of_code:.4f}', f'{least["cachegrind"][1]:.2f}']
        cells += [f'{least[key][1] / least["cachegrind"][1]:.2f}' for key in ('two', 'code', 'three', 'none')]
        cells += [f'{least[key][0] / least["cachegrind"][0]:.2f}' for key in ('two', 'code', 'three')]
        print(f'| {name} | ' + ' | '.join(cells) + ' |', flush=True)
    print(f'load {os.getloadavg()[0]:.1f}')


def misses(folder):
    machine = 'i7-9700~no-tlb'

    def program(*words):
        out = run(recount(machine, 'PAPI_L1_DCM') + ['./product', *words], folder)[1]
        return counted(out)['PAPI_L1_DCM']
    whole, without = program('600'), program('600', 'without')
    said = run(CACHEGRIND + ['./product', '600'], folder)[2]
    other = misses_of(said, 'D1')
    kernel = run([RECOUNT, 'sweep', 'matmul', '--variant', 'ijk', '--element', 'f64', '--n', '600', '--witness', f'model:{machine}',
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
        table(folder, sys.argv[3:])
        return 0 if sys.argv[3:] or misses(folder) else 1


if __name__ == '__main__':
    sys.exit(main())
