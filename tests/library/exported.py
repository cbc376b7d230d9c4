#!/usr/bin/env python3
"""Links a program that refers to every public function and object of every installed header: what a header declares and
does not define, the libraries must export. Before that, each header compiles alone, in each standard.

exported.py INCLUDE LIBRARY PAPI-LIBRARY. The declarations, with their names for the linker, are those that g++ writes with
-fdump-ada-spec; exit 77 without g++."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

STANDARDS = {'c': ['c11', 'c17', 'c2x'], 'c++': ['c++20', 'c++2b']}  # C23 and C++23 for the oldest compiler, too
LEAST = 100  # names; fewer: the output of g++ has another form


def inline(text, line):
    """Whether the declaration at this line of a header needs nothing of a library: it has its body there, or none at all."""
    depth = 0
    rest = '\n'.join(text.split('\n')[line - 1:])
    for at, c in enumerate(rest):
        depth += (c == '(') - (c == ')')
        if depth == 0 and c in ';{':
            head = rest[:at]
            return c == '{' or re.search(r'= (delete|default)$|\b(constexpr|inline)\b|^static ', head) is not None
    return False


def private(text, line):
    access = 'public:'
    for word in re.findall(r'^ *(?:(public:|private:|protected:)|(?:class|struct|namespace) \w+)', '\n'.join(text.split('\n')[:line - 1]), re.M):
        access = word or 'public:'
    return access == 'private:'


def declared(header, text, spec):
    """The linker's names of what the header declares for others to call. A class inside another one ends without a word about
    the access after it, but none is private here."""
    names, line = set(), 0
    for row in spec.splitlines():
        if place := re.search(rf'-- .*/{re.escape(header)}:(\d+)$', row):
            line = int(place[1])
        name = re.search(r'External_Name => "(\w+)"|CPP_Constructor \(\w+, "(\w+)"\)', row)
        if name and line and not inline(text, line) and not private(text, line):
            names.add(name[1] or name[2])
    return names


def misfits(include, headers):
    """What the compiler says of headers alone."""
    for header in headers:
        for language in STANDARDS if header.endswith('.h') else ['c++']:
            for standard in STANDARDS[language]:
                done = subprocess.run(['g++', '-x', language, f'-std={standard}', '-pedantic', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-I', include, '-'],
                                      input=f'#include <recount/{header}>\n', text=True, capture_output=True)
                if done.returncode:
                    yield f'{header} in {standard}: {done.stderr}'


def main(include, *libraries):
    if shutil.which('g++') is None:
        print('g++ is not installed')
        return 77
    headers = sorted(p.name for p in (pathlib.Path(include) / 'recount').iterdir())
    if faults := list(misfits(include, headers)):
        print(*faults, sep='\n')
        return 1
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / 'all.cpp').write_text(''.join(f'#include <recount/{name}>\n' for name in headers))
        subprocess.run(['g++', '-std=c++20', '-fsyntax-only', '-fdump-ada-spec', '-I', include, 'all.cpp'], cwd=work, check=True)
        names = set()
        for header in headers:
            spec = work / f'recount_{header.replace(".", "_")}.ads'
            names |= declared(header, (pathlib.Path(include) / 'recount' / header).read_text(), spec.read_text())
        if len(names) < LEAST:
            print(f'{len(names)} names in {len(headers)} headers: g++ writes declarations otherwise')
            return 1
        lines = [*(f'extern const char {name}[];' for name in sorted(names)), 'const char *const all[] = {', *(f'  {name},' for name in sorted(names)), '};',
                 'int main(void) { return all[0] == 0; }', '']
        (work / 'links.c').write_text('\n'.join(lines))
        done = subprocess.run(['g++', '-fPIC', '-x', 'c', 'links.c', '-x', 'none', *libraries, '-o', 'links'], cwd=work, text=True, capture_output=True)
        missing = {line for line in done.stderr.splitlines() if 'undefined reference' in line}
        filtered = subprocess.run(['c++filt'], input='\n'.join(sorted(missing)) or done.stderr, text=True, capture_output=True).stdout
        print(filtered if done.returncode else f'{len(names)} names of {len(headers)} headers')
    return int(done.returncode != 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], *(str(pathlib.Path(p).resolve()) for p in sys.argv[2:])))
