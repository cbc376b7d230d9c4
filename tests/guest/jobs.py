"""Jobs of the guest: one Boot per machine, one line per step. Add a line to add a test."""
from boot import Boot, Step

# An ordinary user may count user mode only.
RESTRICTED = 'echo 2 >/proc/sys/kernel/perf_event_paranoid; '
TESTS = '/guest-tests --log_level=message --color_output=no'


def suites(*names, limit=600):
    """Suites of tests/guest/*.cpp, each as a separate step, so that a hang or crash does not affect the others."""
    return [Step(name, f'{TESTS} --run_test={name}', limit, cases=True) for name in names]


def tables(*names, limit=600):
    """Tables of tests/cli and tests/guest: the program as a user runs it."""
    return [Step(f'table-{name}', f'{RESTRICTED}RECOUNT=/recount RECOUNT_TABLE=/tables/{name}.table /cli-tests --run_test=table --color_output=no', limit,
                 cases=True) for name in names]


# Two that count on a Cortex-A57 and two that qemu does not model, so that four hardware events are counted at once.
EVENTS = 'arm_ac57::INST_RETIRED,arm_ac57::CPU_CYCLES,arm_ac57::L1D_CACHE_REFILL,arm_ac57::L1D_TLB_REFILL'

# Longest first, because jobs run in parallel, one per processor.
BOOTS = [
    Boot('a57-check', tables('check-a57', limit=240)),
    Boot('a53', tables('a53', limit=240), cpu='cortex-a53'),
    Boot('a57-repeat', [Step('repeat', '/repeat 10 /recount check -q --json --repeat 1 TOT_INS L1_DCM perf::PAGE-FAULTS', 480)]),
    Boot('a57-tables', tables('main', 'doctor', 'events', 'a57', 'sweep', limit=900)),
    Boot('n1', suites('groups', 'scheduling', 'kernels') + tables('n1', limit=900), cpu='neoverse-n1'),
    Boot('a57', suites('groups', 'scheduling', 'wrap', 'targets', 'user_reads', 'sampling', 'cost', 'region', 'kernels') +
         [Step('cost-table', f'/recount cost --repeat 1 -e {EVENTS}', show=True)]),
    Boot('a64fx', tables('a64fx', limit=900), cpu='a64fx'),
    Boot('a57-wrong', tables('check-wrong', limit=900)),
    Boot('a57-trace', [Step('traced', '/traced 40', 180, show=True)], shift=None),
    # Two cycles per instruction: detects swapped counts.
    Boot('a57-shift1', suites('groups', 'user_reads', 'sampling', 'cost') + tables('check-shift1', limit=900), shift=1),
    # Virtual time is independent of instructions.
    Boot('a57-off', tables('check-off', limit=900), shift=None),
]
