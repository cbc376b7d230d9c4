#!/usr/bin/env python3
"""No include points upwards: a room includes itself and lower rooms, never a room above or beside it in a ring.

Also what else holds for every source file: its length, and that no shell is started.
"""
import pathlib
import re
import sys

# From the ground up; rooms of one floor may include one another one way only.
FLOORS = [['formula', 'host', 'process'], ['event', 'model', 'metric', 'result'], ['preset', 'perf', 'simple', 'papi', 'symbol'], ['kernel'],
          ['witness'], ['sweep'], ['analysis'], ['study', 'stat', 'profile', 'watch'], ['figure'], ['report'], ['cli']]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
# The room that makes what a public header declares; the others declare what any room may use.
PUBLIC = {'event': 'event', 'count': 'perf', 'group': 'perf', 'user_read': 'perf', 'sampling': 'perf', 'overflow': 'perf', 'histogram': 'perf', 'papi': 'papi', 'simple': 'simple', 'timers': 'papi',
          'preset': 'preset', 'error': 'formula', 'nearest': 'formula'}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"(\w+)/[\w./]+"|<recount/(\w+)\.hpp>)', re.M)
SHELL = re.compile(r'\b(?:std::)?(?:system|popen)\s*\(')
# What a command prints goes through cli::print, and what gnuplot executes through GnuplotWriter: both keep text from
# elsewhere in its place. The others: a child whose stderr is read by recount, and files that the user named.
PRINT = re.compile(r'\bfmt::print\s*\(|\bstd::(?:cout|cerr|clog|puts|putchar|printf|vprintf|fputs|fprintf)\b')
PRINTERS = {'cli/print.hpp', 'process/capture.cpp'}
GNUPLOT = re.compile(r'gnuplot-iostream\.h')
LONGEST = 300


def rooms_included(text):
    for room, header in INCLUDE.findall(text):
        yield room or PUBLIC.get(header, 'formula')


def main(root):
    faults, edges = [], set()
    sources = sorted((root / 'src').glob('*/*.?pp'))
    for path in sources:
        room, name = path.parent.name, path.relative_to(root)
        if room not in LEVEL:
            faults.append(f'{name}: room {room} stands on no floor (tests/lint/floors.py)')
            continue
        text = path.read_text()
        if text.count('\n') > LONGEST:
            faults.append(f'{name}: {text.count(chr(10))} lines, more than {LONGEST}: one idea a file')
        if SHELL.search(text):
            faults.append(f'{name}: starts a shell; src/process starts programs without one')
        place = f'{room}/{path.name}'
        if PRINT.search(text) and place not in PRINTERS:
            faults.append(f'{name}: prints by itself; cli::print shows control characters')
        if GNUPLOT.search(text) and place != 'figure/gnuplot_writer.cpp':
            faults.append(f'{name}: sends text to gnuplot by itself; GnuplotWriter takes code and quoted strings only')
        for other in rooms_included(text):
            if other != room and other in LEVEL:
                edges.add((room, other))
                if LEVEL[other] > LEVEL[room]:
                    faults.append(f'{name}: includes {other}, which lies above {room}')
    faults += [f'{a} and {b} include each other' for a, b in sorted(edges) if a < b and (b, a) in edges]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(sources)} files, {len(faults)} faults')
    return 1 if faults or not sources else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1])))
