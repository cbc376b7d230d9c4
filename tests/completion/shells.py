#!/usr/bin/env python3
"""shells.py SHELL RECOUNT: presses TAB in a real bash, zsh or fish on a pseudo-terminal and reads the words that result.

The completion script is the one that `recount completion SHELL` prints. Exit 77 where there is no such shell.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

# What is typed before TAB, and the last word that it must give. The names are those of Linux on every machine, of files
# below, and of the program itself.
CASES = [
    ('recount sta', 'stat'),
    ('recount stat --eve', '--event'),
    ('recount stat -e perf::PAGE', 'perf::PAGE-FAULTS'),
    ('recount stat -e perf::CPU-MIG', 'perf::CPU-MIGRATIONS'),
    ('recount stat -e perf::PAGE-FAULTS,perf::CPU-MIG', 'perf::PAGE-FAULTS,perf::CPU-MIGRATIONS'),
    ('recount stat --event=perf::CPU-MIG', '--event=perf::CPU-MIGRATIONS'),
    ('recount stat -e page-fault-r', 'page-fault-rate'),
    ('recount check TOT_IN', 'TOT_INS'),
    ('recount check PAPI_VEC_S', 'PAPI_VEC_SP'),
    ('recount sweep str', 'stride'),
    ('recount sweep stride --wi', '--witness'),
    ('recount sweep stride --strid', '--stride'),
    ('recount sweep --witness model:cort', 'model:cortex-a57'),
    ('recount caches --machine i5', 'i5-1035g1'),
    ('recount plot --figure matmul-roofl', 'matmul-roofline'),
    ('recount plot resul', 'results.jsonl'),
    ('recount plot --output=resul', '--output=results.jsonl'),
    ('recount report -o fold', 'folder'),
    ('recount stat -e perf::PAGE-FAULTS -- a-program-of-this-t', 'a-program-of-this-test'),
    ('recount stat -e perf::PAGE-FAULTS a-program-of-this-test resul', 'results.jsonl'),
]
PATIENCE = 60  # seconds; the machine may be busy


class Shell:
    def __init__(self, name, folder):
        start = {'bash': ['--norc', '--noprofile', '-i'], 'zsh': ['-f', '-i'], 'fish': ['--no-config', '-i']}[name]
        environment = {**os.environ, 'PATH': f'{folder}/bin:{os.environ["PATH"]}', 'HOME': str(folder), 'TERM': 'xterm',
                       'XDG_CONFIG_HOME': str(folder), 'XDG_DATA_HOME': str(folder), 'COLUMNS': '200', 'LC_ALL': 'C.UTF-8', 'INPUTRC': '/dev/null'}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder / 'work')
            os.execvpe(name, [name, *start], environment)
        self.text = ''

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.text += os.read(self.fd, 65536).decode(errors='replace')
            except OSError:
                return
        # fish asks what the terminal is.
        if self.text.endswith('\x1b[c') or '\x1b[0c' in self.text[-20:]:
            os.write(self.fd, b'\x1b[?62c')

    def wait_for(self, pattern):
        """The match of what comes next; None when it does not come."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if match := re.search(pattern, self.text):
                self.text = self.text[match.end():]
                return match
            self.read(0.2)
        return None

    def settle(self):
        """Until nothing has been printed for a third of a second."""
        length = -1
        while length != len(self.text):
            length = len(self.text)
            self.read(0.33)

    def type(self, text):
        os.write(self.fd, text.encode())


def prepare(folder, program):
    for name in ('bin', 'work', 'work/folder'):
        (folder / name).mkdir()
    (folder / 'work' / 'results.jsonl').write_text('')
    # Its answers are awaited, however long they take.
    wrapper = folder / 'bin' / 'recount'
    wrapper.write_text(f'#!/bin/sh\n"{program}" "$@"\nstatus=$?\necho "$1" >>"{folder}/asked"\nexit $status\n')
    other = folder / 'bin' / 'a-program-of-this-test'
    other.write_text('#!/bin/sh\n')
    for file in (wrapper, other):
        file.chmod(0o755)


def asked(folder):
    log = folder / 'asked'
    return log.read_text().count('complete\n') if log.exists() else 0


def last_word(shell, folder, typed):
    """Of the line after TAB: it is printed instead of executed."""
    before = asked(folder)
    shell.type(typed + '\t')
    end = time.monotonic() + PATIENCE
    while asked(folder) == before and time.monotonic() < end:
        shell.read(0.1)
    shell.settle()
    shell.text = ''
    shell.type('\x01printf "<%s>" \x05 "en"d\r')  # to the begin of the line and to its end
    match = shell.wait_for(r'<([^<>%]*)><end>[^\0]*PROMPT')
    return match[1] if match else None


def main(name, program):
    if not shutil.which(name):
        print(f'SKIP: there is no {name}')
        return 77
    script = subprocess.run([program, 'completion', name], check=True, capture_output=True, text=True).stdout
    faults = 0
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        prepare(folder, program)
        (folder / 'script').write_text(script)
        shell = Shell(name, folder)
        shell.type({'zsh': 'PS1=PROM"PT "; autoload -Uz compinit && compinit -u -D', 'bash': 'PS1=PROM"PT "',
                    'fish': 'set -g fish_autosuggestion_enabled 0; function fish_prompt; printf PROM"PT "; end'}[name] + '\r')
        shell.type(f'. {folder}/script\r')
        shell.type('printf "<%s%s>" rea dy\r')
        if not shell.wait_for(r'<ready>[^\0]*PROMPT'):
            sys.exit(f'{name} does not start: {shell.text!r}')
        for typed, wanted in CASES:
            got = last_word(shell, folder, typed)
            if got is None or got.removesuffix('/') != wanted:
                faults += 1
                print(f'{name}: {typed}<TAB> gives {got} instead of {wanted}')
        shell.type('exit\r')
        os.close(shell.fd)
        os.waitpid(shell.pid, 0)
    print(f'{name}: {len(CASES)} completions, {faults} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2]))
