#!/usr/bin/env python3
"""recount check --program on a simulated machine that executes what the program must do.

Arguments: recount, run, options of run."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'trace'))
import programs

RECOUNT, *RUN = [os.path.abspath(word) if os.path.exists(word) else word for word in sys.argv[1:]]
# Without libc, so that nothing but this is executed.
SOURCE = '''
.globl _start
.text
_start: mov $1000, %ecx
outer:  call work
        dec %ecx
        jnz outer
last:   lea bytes(%rip), %rdi
        mov $4096, %ecx
        xor %eax, %eax
        rep stosb
        mov $60, %eax
        xor %edi, %edi
        syscall
work:   lea bytes(%rip), %rsi
        mov $64, %edx
inner:  mov (%rsi), %rax
        test $1, %dl
        jz even
odd:    mov %rax, 8(%rsi)
        jmp join
even:   addq $1, 16(%rsi)
join:   add $64, %rsi
        dec %edx
        jnz inner
leave:  ret
.bss
.balign 64
bytes:  .skip 8192
'''
EXECUTIONS = {'_start': 1, 'outer': 1000, 'last': 1, 'work': 1000, 'inner': 64000, 'odd': 32000, 'even': 32000, 'join': 64000, 'leave': 1000}
TAKEN = 999 + 32000 + 63 * 1000  # of outer, even, inner
CONDITIONAL = ('je', 'jne', 'jz', 'jnz')


def amounts_of(program):
    """What the program executes, by its disassembly: quantities of the simulated machine."""
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', program], capture_output=True, text=True, check=True).stdout
    amounts = dict.fromkeys(('instructions', 'loads', 'stores', 'transfers', 'conditional', 'jumps', 'calls', 'returns'), 0)
    section = None
    for line in text.splitlines():
        if label := re.match(r'[0-9a-f]+ <(\w+)>:', line):
            section = label[1]
        elif instruction := re.match(r' +[0-9a-f]+:\t(\w+) *(.*?)(?: +[#<].*)?$', line):
            name, operands = instruction.groups()
            times = EXECUTIONS[section]
            memory = '(' in operands and name not in ('lea', 'rep')
            loads = name == 'ret' or (memory and not operands.endswith(')')) or name == 'addq'
            stores = name == 'call' or (memory and operands.endswith(')'))
            amounts['instructions'] += times
            amounts['loads'] += times * loads
            amounts['stores'] += times * stores
            amounts['transfers'] += times * (loads or stores)
            amounts['conditional'] += times * (name in CONDITIONAL)
            amounts['jumps'] += times * (name == 'jmp')
            amounts['calls'] += times * (name == 'call')
            amounts['returns'] += times * (name == 'ret')
    return {**amounts, 'taken': TAKEN}


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix='recount-program-')
        cls.folder = pathlib.Path(cls.place.name)
        (cls.folder / 'count.S').write_text(SOURCE)
        subprocess.run(['gcc', '-nostdlib', '-static', '-o', 'count', 'count.S'], cwd=cls.folder, check=True)
        cls.amounts = amounts_of(cls.folder / 'count')

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def run_check(self, *words, amounts=None, changes='', command=('./count',), stdin=subprocess.DEVNULL, **settings):
        stated = ' '.join(f'{name} {value}' for name, value in (amounts or self.amounts).items())
        environment = {**os.environ, 'COLUMNS': '200',
                       'RECOUNT_PMU_CHANGES': f'program {stated};{changes}', **settings}
        return subprocess.run([*RUN, 'skl', 'env', f'RECOUNT_PMU_CHANGES={environment["RECOUNT_PMU_CHANGES"]}', RECOUNT, 'check', '--program', *words, '--', *command],
                              cwd=self.folder, env=environment, stdin=stdin, capture_output=True, text=True, timeout=200)

    def verdicts(self, *words, **how):
        done = self.run_check('--json', *words, **how)
        self.assertIn('{', done.stdout, done.stderr)
        return {one['preset']: one for one in json.loads(done.stdout)['verdicts']}, done

    def test_numbers_by_hand(self):
        self.assertEqual((self.amounts['instructions'], self.amounts['loads'], self.amounts['stores']), (486008, 97000, 65000))
        presets = {'PAPI_TOT_INS': 486008, 'PAPI_LD_INS': 97000, 'PAPI_SR_INS': 65000, 'PAPI_BR_INS': 163000, 'PAPI_BR_CN': 129000,
                   'PAPI_BR_UCN': 34000, 'PAPI_BR_TKN': 95999, 'PAPI_BR_NTK': 33001}
        told, done = self.verdicts('-r', '2', '-e', ','.join(presets))
        self.assertEqual(done.returncode, 0, done.stdout)
        for preset, expected in presets.items():
            self.assertEqual(told[preset]['verdict'], 'agrees', told[preset])
            self.assertEqual(told[preset]['model']['low'], expected)
            self.assertEqual((told[preset]['perf']['value'], told[preset]['papi']['value']), (expected, expected))
            self.assertTrue(told[preset]['model']['form'].startswith('modelled: executed under Valgrind'))
        # rep stosb stores once, or as often as it has elements; the system call may be a branch.
        self.assertEqual((told['PAPI_SR_INS']['model']['high'], told['PAPI_BR_INS']['model']['high']), (69096, 163001))

    def test_misses_are_a_range(self):
        misses = {**self.amounts, 'l1d_load_misses': 64}
        told, done = self.verdicts('-r', '1', '-e', 'PAPI_L1_DCM', amounts=misses)
        self.assertIn('modelled: simulated in host', told['PAPI_L1_DCM']['model']['form'])
        self.assertIn(told['PAPI_L1_DCM']['verdict'], ('agrees', 'plausible'))
        told, done = self.verdicts('-r', '1', '-e', 'PAPI_L1_DCM', amounts={**misses, 'l1d_load_misses': 6400})
        self.assertEqual((told['PAPI_L1_DCM']['verdict'], done.returncode), ('meaning differs', 1))
        self.assertIn('prefetches are counted too', told['PAPI_L1_DCM']['causes'])

    def test_wrong_table(self):
        (self.folder / 't.csv').write_text('CPU,skl\nPRESET,PAPI_LD_INS,NOT_DERIVED,MEM_INST_RETIRED:ALL_STORES\n'
                                           'PRESET,PAPI_BR_CN,NOT_DERIVED,BR_INST_RETIRED:ALL_BRANCHES\n'
                                           'PRESET,PAPI_TOT_INS,NOT_DERIVED,INST_RETIRED:ANY_P\n')
        told, done = self.verdicts('-r', '2', '--table', 't.csv')
        self.assertEqual(done.returncode, 1)
        self.assertEqual({name: one['verdict'] for name, one in told.items() if one['verdict'] != 'not counted'},
                         {'PAPI_LD_INS': 'meaning differs', 'PAPI_BR_CN': 'meaning differs', 'PAPI_TOT_INS': 'agrees'})
        self.assertAlmostEqual(told['PAPI_LD_INS']['factor'], 65000 / 97000, places=3)
        text = self.run_check('-r', '2', '--table', 't.csv')
        self.assertRegex(text.stdout, r'meaning differs +PAPI_LD_INS +65000 +65000 +97000')
        self.assertIn('Expected counts are modelled', text.stdout)

    def test_wrong_event(self):
        told, done = self.verdicts('-r', '2', '-e', 'PAPI_TOT_INS,PAPI_BR_CN,INST_RETIRED:ANY_P=PAPI_TOT_INS', changes='change INST_RETIRED.ANY_P = 2 * it; change BR_INST_RETIRED.CONDITIONAL = 0 * it')
        self.assertEqual((done.returncode, told['PAPI_TOT_INS']['factor']), (1, 2))
        self.assertEqual(told['PAPI_BR_CN']['verdict'], 'dead')
        self.assertEqual(told['INST_RETIRED:ANY_P']['verdict'], 'meaning differs')

    def steps(self, *words):
        """Instructions of a command, counted one by one."""
        subprocess.run(['gcc', '-O2', '-o', 'step', HERE.parent / 'trace' / 'step.c'], cwd=self.folder, check=True)
        # Valgrind states another CPU, by which libc selects its functions: those that are counted are told which.
        said = self.run_check('-r', '1', '-e', 'PAPI_TOT_INS', command=('sh', '-c', 'echo "<$GLIBC_TUNABLES>" >&2')).stderr
        tunables = max(re.findall(r'<(.*)>', said), key=len)
        self.assertIn('-AVX512VL', tunables)
        return int(subprocess.run(['./step', *words], cwd=self.folder, capture_output=True, text=True,
                                  env={**os.environ, 'GLIBC_TUNABLES': tunables}).stdout)

    def modelled_thrice(self, *command):
        """The first count that three executions have. With these tunables, one execution in seven under Valgrind differs by some instructions
        of the dynamic linker, under its own tool lackey as well; no two of them by the same."""
        executions = collections.Counter()
        while 3 not in executions.values():
            self.assertLess(executions.total(), 20, executions)
            told, _ = self.verdicts('-r', '1', '-e', 'PAPI_TOT_INS', command=command)
            executions[told['PAPI_TOT_INS']['model']['value']] += 1
        return executions.most_common(1)[0][0]

    def test_a_dynamic_program_step_by_step(self):
        programs.build(self.folder, 'product')
        counted, expected = [], []
        for size in ('10', '20'):
            counted.append(self.steps('./product', size))
            expected.append(self.modelled_thrice('env', '-u', 'LD_PRELOAD', './product', size))
        self.assertGreater(counted[1] - counted[0], 50000)
        self.assertEqual(expected[1] - expected[0], counted[1] - counted[0])

    def test_a_static_program_from_main_on(self):
        programs.build(self.folder, 'product', flags=('-static', '-no-pie'))
        names = subprocess.run(['nm', 'product'], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        begin = re.search(r'^(\w+) T main$', names, re.M)[1]
        counted = self.steps('0x' + begin, './product', '10')
        told, _ = self.verdicts('-r', '1', '-e', 'PAPI_TOT_INS', command=('./product', '10'))
        self.assertEqual(told['PAPI_TOT_INS']['model']['value'], counted)

    def test_refused(self):
        for words, command, status, why in ((['-e', 'PAPI_TOT_INZ'], ['./count'], 2, 'PAPI_TOT_INS'), (['-o', 'x'], ['./count'], 2, 'cannot be combined'),
                                            ([], [], 2, 'no command'), ([], ['./nothing'], 3, 'No such file'), (['-e', 'PAPI_TOT_CYC'], ['./count'], 3, 'nothing could be checked'),
                                            ([], ['sh', '-c', 'sleep 60 & sleep 2; kill -9 $!'], 3, 'not simulated')):
            done = self.run_check(*words, command=command)
            self.assertEqual(done.returncode, status, (words, command, done.stderr))
            self.assertIn(why, done.stderr)

    def test_every_execution_reads_the_same_input(self):
        (self.folder / 'in').write_text('12345')
        command = ('sh', '-c', 'echo "<$(wc -c)>" >&2')
        for words, begin, size in ((['--input', 'in'], None, '5'), ([], 2, '3'), ([], None, '0')):
            with open(self.folder / 'in' if begin else os.devnull) as given:
                os.lseek(given.fileno(), begin or 0, os.SEEK_SET)
                read = re.findall('<(.*)>', self.run_check('-r', '2', '-e', 'PAPI_TOT_INS', *words, command=command, stdin=given).stderr)
            self.assertGreaterEqual(len(read), 3, words)  # under Valgrind, and twice by perf
            self.assertEqual(set(read), {size}, words)

    def test_the_command_runs_silently_and_fails(self):
        told, done = self.verdicts('-r', '1', '-e', 'PAPI_TOT_INS', command=('sh', '-c', 'echo out; exit 3'))
        self.assertNotIn('out\n', done.stdout)
        self.assertIn('exit status 3', ' '.join(json.loads(done.stdout)['notes']))


if __name__ == '__main__':
    programs.skip_untraceable(RECOUNT)
    first = subprocess.run([*RUN, 'skl', 'true'], capture_output=True, text=True, check=False)
    if first.returncode == 77:
        print(first.stderr, end='')
        sys.exit(77)
    del sys.argv[1:]
    unittest.main(verbosity=2)
