#!/usr/bin/env python3
"""What holds for all commands of recount(1), walked over the program's own list of commands:

options    one option has one meaning: the same short name, the same kind of value
values     an option refuses what is not of its kind
json       --json prints objects with a "schema"
export     --export writes the tables as CSV and as Markdown
width      lines are no wider than COLUMNS asks for, those of help and errors no wider than 100 columns
page       the page of a report allows its own script, by its hash, and no other
"""
import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Kinds of values of options that several commands have, from the first word of their help. An option of one
# command only is checked against itself.
KINDS = {
    '--event': 'LIST ...', '--witness': 'LIST ...', '--repeat': 'N', '--pid': 'LIST ...', '--cpu': 'N', '--pmu': 'NAME',
    '--domain': 'DOMAIN', '--output': 'FILE', '--seed': 'N', '--timeout': 'SECONDS', '--export': 'FILE', '--plot': 'FILE', '--statistic': 'NAME',
    '--from': 'FILE ...', '--resume': '', '--quiet': '', '--verbose': '', '--dry-run': '', '--json': '', '--all': '', '--help': '',
}
SHORT_NAMES = {'--event': '-e', '--repeat': '-r', '--pid': '-p', '--output': '-o', '--quiet': '-q', '--verbose': '-v',
         '--dry-run': '-n', '--all': '-a', '--help': '-h', '--interval': '-I'}
# Letters that users of perf stat know.
AS_IN_PERF = {'--all-cpus', '--null', '--no-aggr', '--detailed', '--tid', '--delay', '--field-separator'}
# A report is a folder of files.
# A baseline of lint is a file, of sweep the value of a parameter, and of commands, which have no names, a number.
# recount propose takes its rows from PMUs, recount caches its readings from a file, and a program is simulated from a function on.
EXCEPTIONS = {('report', '--output'): 'FOLDER', ('laboratory', '--output'): 'DIR', ('propose', '--from'): 'PMU,... ...', ('stat', '--timeout'): 'MS', ('sweep', '--baseline'): 'NAME=VALUE', ('stat', '--baseline'): 'N', ('stat', '--from'): 'FUNCTION', ('profile', '--from'): 'FUNCTION'}

TABLE = 'CPU,skl\nPRESET,PAPI_TOT_INS,NOT_DERIVED,INST_RETIRED\nPRESET,PAPI_TOT_CYC,NOT_DERIVED,NO_SUCH_EVENT\n'
# A run of each command that prints JSON and tables, quick and possible on every machine.
# The same value on two machines.
NODES = ''.join(
    f'{{"type":"run","schema":"recount-results/2","run":"{node}","host":"{node}"}}\n'
    f'{{"type":"observation","run":"{node}","kernel":"k","params":{{}},"repetition":0,"witness":"clock","metric":"seconds","value":1}}\n'
    for node in ('a', 'b'))
PUBLISHED = ('group,variant,n,block,repetition,l1_dcm\n' +
             ''.join(f'g,simple,600,,{i},2445{i}6955\n' for i in (1, 2, 3)))
RUNS = {
    'doctor': [['--json'], ['--for', 'sweep', '--json']],
    'events': [['--json', '--pmu', 'perf'], ['--json', '--encode', 'perf::PAGE-FAULTS']],
    'lint': [['--json', 't.csv']],
    'propose': [['--json', '--table', 't.csv', '--pmu', 'skx']],
    'explain': [['--json', 'published.csv']],
    'presets': [['--json', '--pmu', 'skl', '-a']],
    'check': [['--json', '-q', '--repeat', '1', 'perf::PAGE-FAULTS']],
    'caches': [['--json', '-q', '--from', str(pathlib.Path(__file__).resolve().parents[1] / 'data/caches/counted.jsonl')]],
    'compare': [['--json', 'nodes.jsonl']],
    'stat': [['--json', '-e', 'perf::PAGE-FAULTS', '--', 'true'], ['--json', '--list'],
             ['--json', '--compare', '-r', '3', '-e', 'perf::PAGE-FAULTS', '--', 'true', '---', 'true']],
    'sweep': [['--json', '-q', '--witness', 'model:i7-9700', 'stride', '--size', '4K,8K']],
    'cost': [['--json', '--repeat', '1', '-e', 'perf::PAGE-FAULTS', '--at-once', '1']],
    'profile': [['--json', '-e', 'cpu-clock', '--', 'sh', '-c', 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done']],
    'watch': [['--json', '-e', 'perf::PAGE-FAULTS', '--', 'true']],
    'matmul': [['--json', '-q', '--study', 'lab', '--quick', '--no-java', '--witness', 'model:i7-9700', '--n', '8', '--block', '4',
                '--repeat', '1']],
}
NO_TABLE = [['--for', 'sweep', '--json'], ['--json', '--encode', 'perf::PAGE-FAULTS']]
# What propose prints is a preset table, whose lines are not broken; explain prints lists, no table.
NOT_WRAPPED, WITHOUT_TABLE = {'propose'}, {'explain'}
BAD = {'--domain': 'uk', '--pid': 'init', '--cpu': 'skl', '--seed': 'x', '--repeat': 'x', '--timeout': 'x', '--export': 'tables.txt'}

faults = []


def run(program, words, folder, columns=None):
    environment = dict(os.environ)
    environment.pop('COLUMNS', None)
    if columns:
        environment['COLUMNS'] = str(columns)
    return subprocess.run([program, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=240,
                          stdin=subprocess.DEVNULL)


def options_of(text):
    """{'--event': ('-e', 'LIST ...')} of the lines under "Options:"."""
    found = {}
    for line in text.split('\nOptions:\n')[1].splitlines():
        match = re.match(r'^ {2,}((?:-\w,)?--[\w-]+)(?: (\S+(?: \.\.\.)?))?(?= {2,}|$)', line)
        if match:
            *short, name = match.group(1).split(',')
            found[name] = (short[0] if short else '', match.group(2) or '')
    return found


def check_options(options):
    seen, letters = {}, {}
    for command, its in options.items():
        for name, (short, kind) in its.items():
            wanted = EXCEPTIONS.get((command, name), KINDS.get(name, seen.setdefault(name, kind)))
            if kind != wanted:
                faults.append(f'recount {command} {name} takes "{kind}" instead of "{wanted}"')
            if name in SHORT_NAMES and short != SHORT_NAMES[name]:
                faults.append(f'recount {command} {name} has the short name "{short}" instead of {SHORT_NAMES[name]}')
            if short and name not in AS_IN_PERF and letters.setdefault(short, name) != name:
                faults.append(f'recount {command}: {short} is {name} here and {letters[short]} elsewhere')


def check_values(program, command, its, words, folder):
    for name, bad in BAD.items():
        if name in its and run(program, [command, name, bad, *words], folder).returncode not in (2, 125):
            faults.append(f'recount {command} {name} {bad} is accepted')


def check_json(command, text, got):
    try:
        first = json.loads(got.stdout.splitlines()[0] if command == 'watch' else got.stdout)
    except (ValueError, IndexError) as error:
        faults.append(f'recount {command} {text}: no JSON ({error}), exit {got.returncode}: {got.stderr}')
        return
    schema = first.get('schema', '')
    if not re.fullmatch(r'recount-[a-z-]+/\d+', schema):
        faults.append(f'recount {command} {text}: the schema is "{schema}"')


def check_export(command, folder):
    rows = list(csv.reader((folder / 'tables.csv').read_text().splitlines()))
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        faults.append(f'recount {command} --export tables.csv: {rows}')
    text = (folder / 'tables.md').read_text()
    if not re.search(r'^\| .*\|\n\| :?--', text, re.M):
        faults.append(f'recount {command} --export tables.md: {text}')


def check_width(command, words, got, columns):
    for line in got.stdout.splitlines() + got.stderr.splitlines():
        longest = max(map(len, line.split()), default=0)
        if len(line) > columns and longest + 16 < columns:  # a word that is wider than its place is not broken
            faults.append(f'COLUMNS={columns} recount {command} {" ".join(words)}: {len(line)} columns: {line}')


def check_page(program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'one.jsonl').write_text(NODES.replace('"kernel":"k","params":{}', '"kernel":"matmul","params":{"n":8,"variant":"ijk"}'))
        run(program, ['report', 'one.jsonl', '--format', 'html', '-o', 'made'], folder)
        page = (folder / 'made' / 'report.html').read_text()
    scripts = re.findall(r'<script>(.*?)</script>', page, re.S)
    allowed = re.findall(r"script-src '([^']*)'", page)
    if [f'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}' for s in scripts] != allowed or len(allowed) != 1:
        faults.append(f'recount report: the page allows {allowed} and has {len(scripts)} scripts of other hashes')


def main(program):
    able = run(program, ['doctor', '--for', 'stat'], '.')
    if able.returncode == 3:
        print(f'SKIP: the commands that count cannot run here: {able.stdout}')
        return 77
    names = re.findall(r'^  (\w+) {2,}\S', run(program, ['--help'], '.').stdout.split('commands:')[1], re.M)
    options = {name: options_of(run(program, [name, '--help'], '.').stdout) for name in names}
    check_options(options)
    for command in names:
        for columns in (40, 80, 200):
            for words in ['--help'], ['--no-such-option', 'x']:
                check_width(command, words, run(program, [command, *words], '.', columns), min(columns, 100))
    printing = [name for name in names if '--json' in options[name]]
    if sorted(printing) != sorted(RUNS):
        faults.append(f'--json: {sorted(set(printing) ^ set(RUNS))} have it or a run here, not both')
    for command in printing:
        if '--export' not in options[command] and command not in WITHOUT_TABLE:
            faults.append(f'recount {command} prints tables and has no --export')
            continue
        for words in RUNS[command]:
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / 't.csv').write_text(TABLE)
                (folder / 'nodes.jsonl').write_text(NODES)
                (folder / 'published.csv').write_text(PUBLISHED)
                exports = words not in NO_TABLE and command not in WITHOUT_TABLE
                got = run(program, [command, *(['--export', 'tables.csv'] if exports else []), *words], folder)
                check_json(command, ' '.join(words), got)
                plain = [word for word in words if word != '--json']
                narrow = run(program, [command, *(['--export', 'tables.md'] if exports else []), *plain], folder, 40)
                if command not in NOT_WRAPPED:
                    check_width(command, plain, narrow, 40)
                if exports:
                    check_export(command, folder)
                if words == RUNS[command][0]:
                    check_values(program, command, options[command], words, folder)
    check_page(program)
    for fault in faults:
        print(fault)
    print(f'{len(names)} commands, {sum(map(len, options.values()))} options, {len(printing)} with --json, {len(faults)} faults')
    return 1 if faults or len(printing) < 10 else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
