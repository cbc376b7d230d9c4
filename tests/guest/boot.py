"""Boots Linux under qemu-system-aarch64 with the steps of a job, and gathers how each of them ended."""
import os
import re
import selectors
import subprocess
import time
from dataclasses import dataclass, field

MARK = re.compile(r'^@@(begin|end|guest|off)\b ?(.*)$')
BOOT_LIMIT = 60  # seconds until the first step begins; about 2 on an idle machine


@dataclass
class Step:
    """A command of a job. `limit`: seconds until it counts as hung. `cases`: it must report Boost.Test cases."""
    name: str
    command: str
    limit: int = 600
    cases: bool = False
    show: bool = False  # print its output also on success


@dataclass
class Boot:
    """One start of the machine: a CPU model, and how many virtual ns an instruction takes (2^shift; None: icount off)."""
    name: str
    steps: list
    cpu: str = 'cortex-a57'
    shift: int | None = 0


@dataclass
class Ended:
    """Result of a step: status is None if it did not end."""
    step: Step
    status: int | None = None
    output: str = ''
    trouble: str = ''
    seconds: float = 0.0


@dataclass
class Console:
    """Parses the console output and assigns it to the steps."""
    boot: Boot
    ended: dict = field(default_factory=dict)
    kernel: str = ''
    now: str = ''        # the step under way
    since: float = 0.0  # when it began, or when the one before it ended
    off: bool = False
    stray: list = field(default_factory=list)
    rest: str = ''

    def feed(self, data):
        self.rest += data.decode('utf-8', 'replace').replace('\r', '')
        *lines, self.rest = self.rest.split('\n')
        for line in lines:
            self.line(line)

    def line(self, line):
        mark = MARK.match(line)
        if not mark:
            if self.now:
                self.ended[self.now].output += line + '\n'
            else:
                self.stray.append(line)
            return
        what, rest = mark.groups()
        if what == 'guest':
            self.kernel = rest
        elif what == 'off':
            self.off = True
        elif what == 'begin':
            self.now, self.since = rest, time.monotonic()
        elif self.now:
            name, status = rest.rsplit(' ', 1)
            self.ended[name].status = int(status)
            self.ended[name].seconds = time.monotonic() - self.since
            self.now, self.since = '', time.monotonic()

    def limit(self):
        return self.ended[self.now].step.limit if self.now else BOOT_LIMIT


def command_line(boot, kernel, initramfs):
    icount = ['-icount', f'shift={boot.shift}'] if boot.shift is not None else []
    # Nothing random: addresses, stack offsets and mitigations would make counts differ from boot to boot.
    append = ('console=ttyAMA0 quiet panic=-1 nokaslr norandmaps randomize_kstack_offset=off mitigations=off '
              f'job={boot.name} GUEST_SHIFT={"off" if boot.shift is None else boot.shift}')
    return ['qemu-system-aarch64', '-M', 'virt,gic-version=3' if boot.cpu == 'a64fx' else 'virt', '-cpu', boot.cpu,
            '-smp', '1', '-m', '512', *icount, '-display', 'none', '-serial', 'stdio', '-monitor', 'none', '-nic', 'none',
            '-no-reboot', '-kernel', str(kernel), '-initrd', str(initramfs), '-append', append]


def run(boot, kernel, initramfs):
    """Boots and waits for the end; kills a machine that hangs. Returns (kernel's version, [Ended])."""
    console = Console(boot, {s.name: Ended(s) for s in boot.steps}, since=time.monotonic())
    with subprocess.Popen(command_line(boot, kernel, initramfs), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as machine:
        trouble = listen(machine, console)
    for ended in console.ended.values():
        if ended.status is None and not ended.trouble:
            ended.trouble = trouble or 'the machine was switched off before it'
    if not console.kernel and boot.steps:
        console.ended[boot.steps[0].name].output += '\n'.join(console.stray[-40:]) + '\n'
    return console.kernel, list(console.ended.values())


def listen(machine, console):
    """Until the machine has ended; returns what was wrong with it, if anything."""
    ready = selectors.DefaultSelector()
    ready.register(machine.stdout, selectors.EVENT_READ)
    try:
        while True:
            left = console.since + console.limit() - time.monotonic()
            if left <= 0:
                return hung(console)
            if not ready.select(left):
                continue
            data = os.read(machine.stdout.fileno(), 65536)
            if not data:
                return '' if console.off else stopped(console, machine.wait())
            console.feed(data)
    finally:
        machine.kill()


def hung(console):
    what = f'the step {console.now} has not ended' if console.now else 'no further step has begun'
    trouble = f'{what} after {console.limit()} s: the machine was killed'
    if console.now:
        console.ended[console.now].trouble = trouble
    return trouble


def stopped(console, status):
    where = f' during {console.now}' if console.now else ''
    return f'qemu ended{where} with status {status} before the guest had switched off'
