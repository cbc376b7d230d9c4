#!/usr/bin/env python3
"""Checks the includes of every source file: floors.py ROOT; --self-test plants violations; --write makes src/README.md.

A folder of src/ includes itself and folders of lower floors; folders of one floor include one another one way
only. Also checked: the length of files, what no source may hold
(FORBIDDEN), and that src/README.md is up to date.
"""
import pathlib
import re
import sys
import tempfile

# (folder, what it holds), from the lowest floor to the highest.
FLOORS = [
    [('base', 'text, numbers, sizes, random numbers, small files: what has nothing to do with counters')],
    [('formula', 'infix and RPN expressions, as algebra and as arithmetic'),
     ('host', 'this machine: CPUs, caches, PMUs, settings, limits, disturbances'),
     ('process', 'child processes without a shell: descriptors, limits, exit states'),
     ('statistics', 'medians, quantiles, bootstrap intervals of plain numbers')],
    [('errata', 'published errata of performance counters, by CPU and event'),
     ('event', 'event names to perf_event_attr: libpfm4, sysfs PMUs, breakpoints'),
     ('model', 'simulated caches and TLBs, machine descriptions, simulation of loop nests'),
     ('metric', 'metrics as data: formulas over events and presets'),
     ('result', 'observations, the results file, curves over a parameter')],
    [('preset', 'preset tables, read as PAPI reads them'),
     ('perf', 'counting and sampling through perf_event'),
     ('simple', 'one-line calls: rates, instructions per cycle'),
     ('papi', 'counting through PAPI'),
     ('trace', 'accesses of any program, by a Valgrind tool through shared memory, in the simulated machine'),
     ('symbol', 'addresses to functions and lines: ELF and DWARF')],
    [('kernel', 'the measured code, registered with its parameters and expected counts')],
    [('witness', 'clock, perf, papi and model: each measures a kernel at a point')],
    [('plot', 'gnuplot figures: axes, labels, style, terminals; figures of curves'),
     ('document', 'the document model and its Markdown, HTML and LaTeX writers')],
    [('command', 'what commands share: options, tables, terminals, signals')],
    [('sweep', 'grids of points, each run in a fresh process; recount sweep')],
    [('caches', 'recount caches: inference, measurement, table, figures, report section'),
     ('check', 'recount check: plan, verdicts, table, figure, report section'),
     ('compare', 'recount compare: results of several machines side by side, outliers, table, figure, report section'),
     ('matmul', 'recount matmul: the matrix-multiplication study, its tables, figures and report sections'),
     ('explain', 'recount explain: hypotheses about machine and events against counts of others'),
     ('cost', 'recount cost: overhead of each counting interface'),
     ('lint', 'recount lint: rules over preset tables'),
     ('propose', 'recount propose: preset rows for a CPU that has none'),
     ('stat', 'recount stat: counts of any program'),
     ('profile', 'recount profile: samples of any program by function, line and instruction'),
     ('watch', 'recount watch: counts of any program over time, and viewers over sockets'),
     ('doctor', 'recount doctor: what can be counted here'),
     ('emulate', 'recount emulate: a PMU for any program; machines as data, the scripted perf_event interface')],
    [('report', 'the written report: puts the registered sections together')],
    [('cli', 'main, the tables of commands, figures and sections, and the small commands')],
]
LEVEL = {folder: level for level, floor in enumerate(FLOORS) for folder, _ in floor}
# The folder that implements a public header; a header that is not listed declares what any folder may use.
PUBLIC = {'event': 'event', 'count': 'perf', 'group': 'perf', 'user_read': 'perf', 'sampling': 'perf', 'overflow': 'perf', 'region': 'perf',
          'histogram': 'perf', 'papi': 'papi', 'simple': 'simple', 'preset': 'preset'}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([\w./-]+)[">]', re.M)
# (what no source may hold, why, the files that may). The C++ standard leaves the results of shuffles and distributions
# to the library: a seed would give another order elsewhere. What a command prints goes through cli::print, and what
# gnuplot executes through GnuplotWriter: both keep foreign text in its place; the child's stderr is read by recount.
FORBIDDEN = [
    (re.compile(r'\b(?:std::)?(?:system|popen)\s*\('), 'starts a shell; src/process starts programs without one', ()),
    (re.compile(r'\bstd::(?:ranges::)?(?:shuffle|sample)\b|\bstd::\w+_distribution\b'),
     'is not the same everywhere; use base/random.hpp', ()),
    (re.compile(r'\bfmt::print\s*\(|\bstd::(?:cout|cerr|clog|puts|putchar|printf|vprintf|fputs|fprintf)\b'),
     'prints by itself; cli::print shows control characters', ('src/command/print.hpp', 'src/process/child.cpp')),
    (re.compile(r'gnuplot-iostream\.h'), 'sends text to gnuplot by itself; GnuplotWriter takes code and quoted strings only',
     ('src/plot/gnuplot.cpp',)),
]
LONGEST = 800
SOURCES = ('.cpp', '.hpp', '.h', '.in', '.def')


def folder_of(header):
    """The folder that an include depends on; None where it is none of ours."""
    first, _, rest = header.partition('/')
    if first == 'recount':
        return PUBLIC.get(pathlib.PurePath(rest).stem, 'base')
    return first if rest and first in LEVEL else None


def check(root):
    """Faults, and the pairs (folder, included folder)."""
    faults, edges = [], set()
    sources = sorted(p for p in (root / 'src').rglob('*') if p.suffix in SOURCES)
    for path in sources:
        name, folder = path.relative_to(root), path.relative_to(root / 'src').parts[0]
        if folder not in LEVEL:
            faults.append(f'{name}: folder {folder} has no floor (tests/lint/floors.py)')
            continue
        text = path.read_text()
        if text.count('\n') > LONGEST:
            faults.append(f'{name}: {text.count(chr(10))} lines, more than {LONGEST}: one concept per file')
        for pattern, why, allowed in FORBIDDEN:
            if (match := pattern.search(text)) and str(name) not in allowed:
                faults.append(f'{name}: {match[0]} {why}')
        for header in INCLUDE.findall(text):
            other = folder_of(header)
            if header.startswith(('study/', 'analysis/', 'figure/')):
                faults.append(f'{name}: includes {header}, a folder that no longer exists')
            if other and other != folder:
                edges.add((folder, other))
                if LEVEL[other] > LEVEL[folder]:
                    faults.append(f'{name}: includes {header}, which is above {folder}')
    faults += [f'{a} and {b} include each other' for a, b in sorted(edges) if a < b and (b, a) in edges]
    if not sources:
        faults.append('no sources')
    return faults, edges


def readme(edges):
    """src/README.md: a line per folder, from the highest floor to the lowest."""
    lines = ['# Folders', '', 'Written by `tests/lint/floors.py --write`; a test compares it with the includes. A folder includes lower',
             'floors only; folders of one floor include one another in one direction only.', '', '| floor | folder | holds | included by |', '|---|---|---|---|']
    for level in reversed(range(len(FLOORS))):
        for folder, holds in FLOORS[level]:
            users = sorted(a for a, b in edges if b == folder)
            lines.append(f'| {level} | `{folder}/` | {holds} | {", ".join(users) or "-"} |')
    return '\n'.join(lines) + '\n'


# (file, its text, what the fault says): what the check must find.
PLANTED = [('src/base/low.hpp', '#include "kernel/kernel.hpp"\n', 'above base'),
           ('src/model/deep/er/low.hpp', '#include "sweep/plan.hpp"\n', 'above model'),
           ('src/event/low.cpp', '#include <recount/papi.hpp>\n', 'above event'),
           ('src/event/quoted.cpp', '#include "recount/group.hpp"\n', 'above event'),
           ('src/caches/view/a.cpp', '#include "check/check.hpp"\n', ''),
           ('src/check/b.cpp', '#include "caches/infer/inference.hpp"\n', 'include each other'),
           ('src/base/shell.cpp', 'int x = system("ls");\n', 'starts a shell'),
           ('src/base/order.cpp', 'std::shuffle(a, b, c);\n', 'the same everywhere'),
           ('src/check/printed.cpp', 'fmt::print("x");\n', 'prints by itself'),
           ('src/plot/raw.cpp', '#include <gnuplot-iostream.h>\n', 'sends text to gnuplot'),
           ('src/nowhere/x.cpp', '\n', 'no floor'),
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
        (root / 'src/README.md').write_text(readme(edges))
    page = root / 'src/README.md'
    if not page.exists() or page.read_text() != readme(edges):
        faults.append('src/README.md differs from the includes: run tests/lint/floors.py . --write')
    if not self_test():
        faults.append('the check itself misses violations')
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(edges)} pairs of folders, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
