#!/usr/bin/env python3
"""Checks the includes of every source file: floors.py ROOT; --self-test plants violations; --write makes src/README.md.

A folder of src/ includes itself, lower storeys, and in its own storey folders of lower floors; folders of one floor include
one another one way only, and commands none but themselves. Also checked: the length of files, what no source may hold
(FORBIDDEN), and that src/README.md is up to date.
"""
import pathlib
import re
import sys
import tempfile

# (storey, what it knows nothing of, its floors from the lowest: (folder, what it holds); '' is the storey's own files).
STOREYS = [
    ('base', 'counters', [
        [('', 'text, numbers, sizes, random numbers, small files')],
        [('statistics', 'medians, quantiles, bootstrap intervals of plain numbers'),
         ('formula', 'infix and RPN expressions, as algebra and as arithmetic'),
         ('process', 'child processes without a shell: descriptors, limits, exit states'),
         ('host', 'this machine: CPUs, caches, PMUs, settings, limits, disturbances')]]),
    ('count', 'kernels, commands', [
        [('event', 'event names to perf_event_attr: libpfm4, sysfs PMUs, breakpoints'),
         ('metric', 'metrics as data: formulas over events and presets'),
         ('errata', 'published errata of performance counters, by CPU and event')],
        [('preset', 'preset tables, read as PAPI reads them'),
         ('perf', 'counting and sampling through perf_event'),
         ('papi', 'counting through PAPI'),
         ('simple', 'one-line calls: rates, instructions per cycle'),
         ('symbol', 'addresses to functions and lines: ELF and DWARF')],
        [('lint', 'rules over preset tables'),
         ('library', 'what librecount exports')]]),
    ('model', 'commands', [
        [('', 'simulated caches and TLBs, machine descriptions, simulation of loop nests')],
        [('trace', 'accesses of any program, by a Valgrind tool through shared memory, in the simulated machine')],
        [('emulate', 'a PMU for any program: machines as data, the scripted perf_event interface')]]),
    ('kernel', 'how a point is run', [
        [('', 'the measured code, registered with its parameters and expected counts')]]),
    ('run', 'features', [
        [('result', 'observations, the results file, curves over a parameter, matrix products')],
        [('witness', 'clock, perf, papi and model: each measures a kernel at a point')],
        [('verdict', 'what counts prove about a preset')],
        [('', 'plans of points and of counted programs; what runs them and writes the results')]]),
    ('show', 'features', [
        [('plot', 'gnuplot figures: axes, labels, style, terminals; figures of curves'),
         ('document', 'the document model and its Markdown, HTML and LaTeX writers')],
        [('command', 'options, tables, terminals, signals')]]),
    ('commands', 'each other', [
        [('caches', 'cache sizes, lines and ways, by time or counters'),
         ('check', 'presets: perf, PAPI and expected counts'),
         ('compare', 'results of several machines side by side, outliers'),
         ('cost', 'overhead of each counting interface'),
         ('doctor', 'what can be counted here'),
         ('emulate', 'any program on an emulated machine'),
         ('explain', 'hypotheses about machine and events against counts of others'),
         ('laboratory', 'the assignment on caches and products, in one command'),
         ('lint', 'what the rules find in preset tables'),
         ('matmul', 'the matrix-multiplication study'),
         ('profile', 'samples of any program by function, line and instruction'),
         ('propose', 'preset rows for a CPU that has none'),
         ('report', 'the written report: puts the registered sections together'),
         ('stat', 'counts of any program'),
         ('sweep', 'grids of points, each run in a fresh process'),
         ('watch', 'counts of any program over time, and viewers over sockets')],
        [('cli', 'main, the tables of commands, figures and sections, and the small commands')]]),
]
FOLDERS = {f'{storey}/{folder}'.rstrip('/'): holds for storey, _, floors in STOREYS for floor in floors for folder, holds in floor}
LEVEL = {f'{storey}/{folder}'.rstrip('/'): (number, level) for number, (storey, _, floors) in enumerate(STOREYS)
         for level, floor in enumerate(floors) for folder, _ in floor}
# The folder that implements a public header; a header that is not listed declares what any folder may use.
PUBLIC = {'event': 'event', 'count': 'perf', 'group': 'perf', 'user_read': 'perf', 'sampling': 'perf', 'overflow': 'perf', 'region': 'perf',
          'histogram': 'perf', 'papi': 'papi', 'simple': 'simple', 'preset': 'preset'}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([\w./-]+)[">]', re.M)
# (what no source may hold, why, the files that may). The C++ standard leaves the results of shuffles and distributions
# to the library: a seed would give another order elsewhere. What a command prints goes through command::print, and what
# gnuplot executes through GnuplotWriter: both keep foreign text in its place; the child's stderr is read by recount.
FORBIDDEN = [
    (re.compile(r'\b(?:std::)?(?:system|popen)\s*\('), 'starts a shell; base/process starts programs without one', ()),
    (re.compile(r'\bstd::(?:ranges::)?(?:shuffle|sample)\b|\bstd::\w+_distribution\b'),
     'is not the same everywhere; use base/random.hpp', ()),
    (re.compile(r'\bfmt::print\s*\(|\bstd::(?:cout|cerr|clog|puts|putchar|printf|vprintf|fputs|fprintf)\b'),
     'prints by itself; command::print shows control characters', ('src/show/command/print.hpp', 'src/base/process/child.cpp')),
    (re.compile(r'gnuplot-iostream\.h'), 'sends text to gnuplot by itself; GnuplotWriter takes code and quoted strings only',
     ('src/show/plot/gnuplot.cpp',)),
]
LONGEST = 800
EMULATED = 'base/host/emulation.hpp'
SOURCES = ('.cpp', '.hpp', '.h', '.in', '.def')
FLOW = """
## How a value travels

    "PAPI_L1_DCM"            name            what the user asks for
      count/preset             formula         the row of PAPI's table over native events
      count/event              encoding        a perf_event_attr of each native event
      run                      plan            points or programs, groups of events, repetitions
      kernel, base/process     execution       a kernel at a point, or a program, as a child process
      run/witness              counts          by clock, perf, papi and model, with the share of time counted
      run/result               observation     value, unit and witness, or a reason; a line of the results file
      commands/NAME            finding         what the observations prove, with its evidence
      show                     table, figure   terminal, Markdown, HTML, LaTeX, CSV, JSON

A value that was not counted has a reason and is never 0.
"""


def folder_of(path):
    """The folder of a path below src/; None where it has no floor."""
    parts = path.split('/')
    return next((folder for folder in ('/'.join(parts[:2]), parts[0]) if folder in LEVEL), None)


def included(header):
    """The folder that an include depends on; None where it is none of ours."""
    first, _, rest = header.partition('/')
    if first == 'recount':
        implements = PUBLIC.get(pathlib.PurePath(rest).stem)
        return f'count/{implements}' if implements else 'base'
    return folder_of(header) if rest else None


def fault_of(folder, other):
    """What is wrong with an include; None if nothing."""
    if folder == 'commands/cli':
        return None
    if LEVEL[other] > LEVEL[folder]:
        return f'which is above {folder}'
    return 'another command' if folder.startswith('commands/') and other.startswith('commands/') else None


def check(root):
    """Faults, and the pairs (folder, included folder)."""
    faults, edges = [], set()
    sources = sorted(p for p in (root / 'src').rglob('*') if p.suffix in SOURCES)
    for path in sources:
        name, folder = path.relative_to(root), folder_of(str(path.relative_to(root / 'src').parent))
        if folder is None:
            faults.append(f'{name}: the folder has no floor (tests/lint/floors.py)')
            continue
        text = path.read_text()
        if text.count('\n') > LONGEST:
            faults.append(f'{name}: {text.count(chr(10))} lines, more than {LONGEST}: one concept per file')
        for pattern, why, allowed in FORBIDDEN:
            if (match := pattern.search(text)) and str(name) not in allowed:
                faults.append(f'{name}: {match[0]} {why}')
        for header in INCLUDE.findall(text):
            if header == EMULATED and folder.startswith('count/'):
                faults.append(f'{name}: the library knows nothing of the emulator')
            other = included(header)
            if other and other != folder:
                edges.add((folder, other))
                if fault := fault_of(folder, other):
                    faults.append(f'{name}: includes {header}, {fault}')
    faults += [f'{a} and {b} include each other' for a, b in sorted(edges) if a < b and (b, a) in edges]
    if not sources:
        faults.append('no sources')
    return faults, edges


def readme():
    """src/README.md: a row per storey, from the highest to the lowest."""
    lines = ['# Storeys', '', 'Written by `tests/lint/floors.py --write`; the same test checks every include. A folder includes lower storeys, and in its own',
             'storey folders that stand further left. A command includes no other command; `cli` lists them all.', '',
             '| storey | holds, from the lowest | knows nothing of |', '|---|---|---|']
    for storey, unknown, floors in reversed(STOREYS):
        holds = '; '.join((f'`{folder}/` ' if folder else '') + text for floor in floors for folder, text in floor)
        lines.append(f'| `{storey}/` | {holds} | {unknown} |')
    return '\n'.join(lines) + '\n' + FLOW


# (file, its text, what the fault says): what the check must find.
PLANTED = [('src/base/low.hpp', '#include "kernel/kernel.hpp"\n', 'above base'),
           ('src/base/host/low.hpp', '#include "count/event/encode.hpp"\n', 'above base/host'),
           ('src/model/deep/er/low.hpp', '#include "run/plan.hpp"\n', 'above model'),
           ('src/model/trace/low.hpp', '#include "model/emulate/machine.hpp"\n', 'above model/trace'),
           ('src/run/result/low.hpp', '#include "run/plan.hpp"\n', 'above run/result'),
           ('src/count/event/low.cpp', '#include <recount/papi.hpp>\n', 'above count/event'),
           ('src/count/event/quoted.cpp', '#include "recount/group.hpp"\n', 'above count/event'),
           ('src/commands/caches/view/a.cpp', '#include "commands/check/check.hpp"\n', 'another command'),
           ('src/count/papi/a.cpp', '#include "count/perf/group.hpp"\n', ''),
           ('src/count/perf/b.cpp', '#include "count/papi/library.hpp"\n', 'include each other'),
           ('src/base/shell.cpp', 'int x = system("ls");\n', 'starts a shell'),
           ('src/base/order.cpp', 'std::shuffle(a, b, c);\n', 'the same everywhere'),
           ('src/commands/check/printed.cpp', 'fmt::print("x");\n', 'prints by itself'),
           ('src/show/plot/raw.cpp', '#include <gnuplot-iostream.h>\n', 'sends text to gnuplot'),
           ('src/count/papi/emulated.cpp', f'#include "{EMULATED}"\n', 'nothing of the emulator'),
           ('src/commands/nowhere/x.cpp', '\n', 'no floor'),
           ('src/base/long.cpp', '\n' * (LONGEST + 1), 'one concept per file')]


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text, _ in PLANTED:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        faults, _ = check(root)
    missed = [path for path, _, expected in PLANTED if expected and not any(expected in f for f in faults)]
    named = [path for path, _, expected in PLANTED if expected.startswith('above') and not any(f.startswith(path) for f in faults)]
    for path in missed + named:
        print(f'self-test: {path}: not found', file=sys.stderr)
    return not (missed or named)


def main(arguments):
    root = pathlib.Path(arguments[0])
    faults, edges = check(root)
    if '--write' in arguments:
        (root / 'src/README.md').write_text(readme())
    page = root / 'src/README.md'
    if not page.exists() or page.read_text() != readme():
        faults.append('src/README.md differs from tests/lint/floors.py: run tests/lint/floors.py . --write')
    if not self_test():
        faults.append('the check itself misses violations')
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(edges)} pairs of folders, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
