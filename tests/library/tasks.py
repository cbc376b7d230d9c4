#!/usr/bin/env python3
"""Compiles and runs the examples of recount-library(7): in C++20 and in strict C11, each task in a process of its own.

tasks.py PAGE INCLUDE FOLDER-OF-LIBRARIES RECOUNT CC CXX. A task that this machine cannot do ends with status 3 and says why; that is
accepted for hardware events, for PAPI, and for all where software events do not count. Exit 77: nothing counts here."""
import pathlib
import re
import subprocess
import sys
import tempfile

TASKS = 10
# What the page says of work() and of pid.
WORK = r'''
static pid_t pid;
static void work(void) { /* also called by two threads */
  const size_t bytes = 1000000;
  volatile char *memory = (volatile char *)malloc(bytes);
  size_t i;
  for (i = 0; memory && i < bytes; i += 4096) memory[i] = 1;
  free((void *)memory);
}
'''
MAIN = r'''
int main(int argc, char **argv) {
  int status = 2;
  pid = fork();
  if (pid == 0) {
    alarm(60); /* where its parent is killed */
    for (;;) work();
  }
  if (argc == 2) status = run(atoi(argv[1]));
  kill(pid, SIGKILL);
  return status;
}
'''
HEAD = {
    'c': '#define _GNU_SOURCE\n#include <papi.h>\n#include <recount/recount.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/types.h>\n#include <unistd.h>\n',
    'c++': ''.join(f'#include <recount/{name}.hpp>\n' for name in ('derived', 'error', 'group', 'overflow', 'papi', 'region', 'sampling', 'simple'))
           + ''.join(f'#include <{name}>\n' for name in ('atomic', 'chrono', 'csignal', 'cstdlib', 'iostream', 'string', 'thread', 'variant', 'vector', 'unistd.h'))}


def examples(page):
    """[(task, language, words after it, text)]"""
    found, task = [], 0
    for line in page.read_text().splitlines():
        if heading := re.match(r'\.Ss (\d+)\. ', line):
            task = int(heading[1])
        elif mark := re.match(r'\.\\" example (c\+\+|c)(?![+\w])(.*)', line):
            found.append([task, mark[1], set(re.findall(r'\w+', mark[2])), ''])
        elif line == '.Ed':
            found.append([0, '', set(), ''])  # text outside
        elif found and found[-1][0]:
            found[-1][3] += line.replace('\\e', '\\') + '\n'
    return [one for one in found if one[0]]


def source(language, parts):
    text = HEAD[language] + WORK
    bodies = {}
    for task, _, words, code in parts:
        if 'file' in words:
            text += code
        else:
            bodies[task] = code
    for task, code in bodies.items():
        text += f'static int task_{task}(void) {{\n{{\n{code}}}\nreturn 0;\n}}\n'
    catch = '' if language == 'c' else ' catch (const recount::Error& error) { std::cerr << error.what(); return error.kind() == recount::ErrorKind::unavailable ? 3 : 2; }'
    cases = ''.join(f'    case {task}: return task_{task}();\n' for task in bodies)
    body = f'switch (number) {{\n{cases}    default: return 2;\n  }}\n'
    text += f'static int run(int number) {{\n  {body if language == "c" else "try { " + body + "}" + catch}\n}}\n'
    return text + MAIN


def main(page, include, libraries, recount, cc, cxx):
    found, faults, skipped = examples(pathlib.Path(page)), [], []
    uncountable = subprocess.run([recount, 'doctor', '--for', 'stat'], capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        for language, compiler, extra in (('c', cc.split() + ['-std=c11', '-pedantic'], ['-lpapi']), ('c++', cxx.split() + ['-std=c++20'], ['-lrecount-papi', '-pthread'])):
            parts = [one for one in found if one[1] == language]
            expected = set(range(1, TASKS + 1))
            if {one[0] for one in parts} != expected:
                faults.append(f'{language}: tasks {sorted(one[0] for one in parts)} instead of {sorted(expected)}')
            file, program = pathlib.Path(folder) / ('tasks.' + language.replace('+', 'p')), pathlib.Path(folder) / f'tasks_{language}'
            file.write_text(source(language, parts))
            done = subprocess.run([*compiler, '-Wall', '-Wextra', '-Werror', '-I', include, str(file), '-o', str(program), '-L', libraries, '-lrecount', *extra, f'-Wl,-rpath,{libraries}'],
                                  text=True, capture_output=True)
            if done.returncode:
                sys.exit(f'{language}: {done.stderr}')
            for task, _, words, _ in parts:
                if 'file' in words:
                    continue
                try:
                    done = subprocess.run([program, str(task)], text=True, capture_output=True, timeout=60, env={'RECOUNT_REGIONS': 'off', 'PATH': '/usr/bin'})
                except subprocess.TimeoutExpired:
                    faults.append(f'{language}, task {task}: does not end')
                    continue
                cannot = done.returncode == 3 and done.stderr.strip()
                if cannot and (words & {'hardware', 'papi'} or uncountable.returncode):
                    skipped.append(f'{language}, task {task}: {done.stderr.splitlines()[0]}')
                elif done.returncode or not done.stdout.strip():
                    faults.append(f'{language}, task {task}: status {done.returncode}, {done.stdout!r} {done.stderr!r}')
    for line in faults + skipped:
        print(line)
    print(f'{len(found)} examples, {len(skipped)} cannot run here, {len(faults)} faults')
    if not faults and uncountable.returncode:
        print(f'SKIP: {uncountable.stdout.strip()}')
        return 77
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:7]))
