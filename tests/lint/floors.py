#!/usr/bin/env python3
"""No include points upwards: a room includes itself and lower rooms, never a room above or beside it in a ring.

Also what else holds for every source file: its length, that no shell is started, and that random orders are the same with every library.
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
# The C++ standard leaves their results to the library: a seed would give another order elsewhere.
UNPORTABLE = re.compile(r'\bstd::(?:ranges::)?(?:shuffle|sample)\b|\bstd::\w+_distribution\b')
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
        if UNPORTABLE.search(text):
            faults.append(f'{name}: a random order that depends on the standard library (model/shuffle.hpp)')
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
