#!/usr/bin/env python3
"""recount stat --witness model on real programs: test_stat.py RECOUNT. Exit 77 where no program can be traced."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import programs

RECOUNT = os.path.abspath(sys.argv.pop(1))
MACHINE = 'i7-9700~no-tlb'
PATIENCE = 240
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests in the background


class Traced(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory())
                                  if hasattr(cls, 'enterClassContext') else tempfile.mkdtemp(prefix='recount-trace-'))
        programs.build(cls.folder, *programs.SOURCES)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def command(self, *command, events='PAPI_L1_DCM', machine=MACHINE, options=()):
        return [RECOUNT, 'stat', '--json', '-e', events, '--witness', f'model:{machine}', *options, '--', *command]

    def run_stat(self, *command, stdin=None, **how):
        return subprocess.run(self.command(*command, **how), cwd=self.folder, capture_output=True,
                              **({'stdin': subprocess.DEVNULL} if stdin is None else {'input': stdin}),
                              timeout=PATIENCE)

    def values(self, *command, **how):
        """Values by event, of a command that prints nothing to stdout that is JSON."""
        done = self.run_stat(*command, **how)
        text = done.stdout.decode()
        self.assertIn('{', text, done.stderr.decode())
        told = json.loads(text[text.index('{'):])
        for row in told['metrics']:
            self.assertEqual(row['kind'], 'modelled')
            self.assertTrue(row['witness'].startswith('model:'))
        return {row['name']: row['mean'] for row in told['metrics']}, told, done

    def near(self, value, expected, share):
        self.assertLessEqual(abs(value - expected), share * expected, f'{value} instead of {expected}')

    # Numbers.

    def test_cachegrind_agrees(self):
        if not shutil.which('valgrind'):
            self.skipTest('no valgrind in PATH')
        done = subprocess.run(['valgrind', '--tool=cachegrind', '--cache-sim=yes', '--cachegrind-out-file=/dev/null',
                               '--I1=32768,8,64', '--D1=32768,8,64', './product', '200'], cwd=self.folder, capture_output=True, text=True)
        cells = [int(re.search(rf' {name}: +([\d,]+)', done.stderr)[1].replace(',', ''))
                 for name in ('D +refs', 'D1 +misses', 'I1 +misses')]
        values, _, _ = self.values('./product', '200', events='PAPI_L1_DCM,PAPI_LST_INS,PAPI_L1_ICM')
        self.near(values['PAPI_LST_INS'], cells[0], 0.005)
        self.near(values['PAPI_L1_DCM'], cells[1], 0.005)
        self.near(values['PAPI_L1_ICM'], cells[2], 0.03)  # a thousand, of which Valgrind's preloaded library has some

    def test_built_in_kernel_agrees(self):
        product, _, _ = self.values('./product', '200')
        without, _, _ = self.values('./product', '200', 'without')
        file = self.folder / 'kernel.jsonl'
        subprocess.run([RECOUNT, 'sweep', 'matmul', '--variant', 'ijk', '--element', 'f64', '--n', '200', '--witness',
                        f'model:{MACHINE}', '--metric', 'PAPI_L1_DCM', '-r', '1', '-q', '-o', file], check=True)
        kernel = [json.loads(line) for line in file.read_text().splitlines()]
        kernel = [line['value'] for line in kernel if line.get('metric') == 'PAPI_L1_DCM']
        self.near(product['PAPI_L1_DCM'] - without['PAPI_L1_DCM'], kernel[0], 0.005)

    def test_every_process_is_counted(self):
        one, _, done = self.values('./fork', '1', events='PAPI_SR_INS')
        self.assertEqual((done.returncode, done.stdout[:2]), (3, b'0\n'))
        many, _, done = self.values('./fork', '41', events='PAPI_SR_INS')
        self.assertEqual((done.returncode, done.stdout[:4]), (3, b'820\n'))
        each = (many['PAPI_SR_INS'] - one['PAPI_SR_INS']) / 40
        self.assertTrue(65536 <= each <= 65536 + 2000, each)  # and those of fork(2) and wait(2)

    def test_every_thread_is_counted(self):
        values, _, done = self.values('./thread', events='PAPI_SR_INS')
        self.assertEqual(done.stdout[:7], b'joined\n')
        self.assertTrue(65536 <= values['PAPI_SR_INS'] <= 65536 + 60000, values)

    def test_each_thread_has_a_core(self):
        events = 'PAPI_L1_STM,MODEL_L1_COHERENCE_MISSES'
        shared, _, _ = self.values('./turns', events=events)
        apart, _, _ = self.values('./turns', 'apart', events=events)
        one, _, _ = self.values('./turns', events='PAPI_L1_STM', machine=MACHINE + '~cores=1')
        # All stores but those of the very first turn miss, because the other thread has stored to their lines.
        self.assertTrue(199 * 256 <= shared['MODEL_L1_COHERENCE_MISSES'] <= 199 * 256 + 3000, shared)
        self.assertTrue(200 * 256 <= shared['PAPI_L1_STM'] <= 200 * 256 + 6000, shared)
        self.assertLess(apart['MODEL_L1_COHERENCE_MISSES'], 3000)
        self.assertTrue(2 * 256 <= apart['PAPI_L1_STM'] <= 2 * 256 + 6000, apart)
        self.assertLess(one['PAPI_L1_STM'], 6000)

    def test_kinds_of_access(self):
        none, _, _ = self.values('./kinds', '0', events='PAPI_LD_INS,PAPI_SR_INS,MODEL_L1_DEMAND_ACCESSES')
        all_, _, _ = self.values('./kinds', '1', events='PAPI_LD_INS,PAPI_SR_INS,MODEL_L1_DEMAND_ACCESSES')
        more = {name: all_[name] - none[name] for name in none}
        self.assertTrue(990 <= more['PAPI_LD_INS'] <= 1010, more)  # the compare-and-swap
        self.assertTrue(1990 <= more['PAPI_SR_INS'] <= 2010, more)
        lines = more['MODEL_L1_DEMAND_ACCESSES'] - more['PAPI_LD_INS'] - more['PAPI_SR_INS']
        self.assertTrue(990 <= lines <= 1010, more)  # the vector has two lines

    def test_parts_of_vector_registers(self):
        alone = subprocess.run([self.folder / 'scalars'], capture_output=True, check=True).stdout
        done = self.run_stat('./scalars')
        self.assertEqual(done.stdout[:len(alone)], alone)
        self.assertIn(b'{', done.stdout[len(alone):])

    def test_section(self):
        whole, _, _ = self.values('./section', events='PAPI_SR_INS')
        work, _, _ = self.values('./section', events='PAPI_SR_INS', options=['--section', 'work'])
        self.assertGreaterEqual(whole['PAPI_SR_INS'], 5 * 16384)
        self.assertTrue(2 * 16384 <= work['PAPI_SR_INS'] <= 2 * 16384 + 2000, work)
        none, told, _ = self.values('./section', options=['--section', 'nowhere'])
        self.assertIsNone(none['PAPI_L1_DCM'])
        self.assertIn('never began', told['metrics'][0]['reason'])
        swept = subprocess.run([RECOUNT, 'sweep', '-P', 'section=program,work', '-e', 'PAPI_SR_INS', '--witness', f'model:{MACHINE}', '-q', '-v', '--', './section'],
                               cwd=self.folder, capture_output=True, text=True, check=True).stdout
        for name, values in ('program', whole), ('work', work):
            self.assertRegex(swept, fr'\n *{name} +PAPI_SR_INS +model\S+ +1 +{values["PAPI_SR_INS"]:.0f} ')

    def functions(self, *options, command=('./functions',)):
        values, told, _ = self.values(*command, events='PAPI_SR_INS', options=options)
        return values['PAPI_SR_INS'], told

    def test_from_function(self):
        work, _ = self.functions('--from', 'work')  # main twice, last by a jump; each call stores a return address
        self.assertTrue(3 * 1024 <= work <= 3 * 1024 + 20, work)
        jump, _ = self.functions('--from', 'jump')
        self.assertTrue(256 <= jump <= 256 + 300, jump)  # longjmp(3), the dynamic linker that finds it, and no more
        both, _ = self.functions('--from', 'first', '--to', 'second')
        self.assertTrue(2 * (64 + 512) <= both <= 2 * (64 + 512) + 20, both)
        whole, _ = self.functions()
        before, _ = self.functions('--to', 'work')
        self.assertTrue(1024 <= before <= whole - 9 * 1024, (before, whole))
        last, _ = self.functions('--from', 'last')
        self.assertTrue(1024 <= last <= 1024 + 10, last)

    def test_from_function_of_each_thread_and_process(self):
        threads, _ = self.functions('--from', 'run', command=('./thread',))
        self.assertTrue(65536 <= threads <= 65536 + 20, threads)
        forks, _ = self.functions('--from', 'main', command=('./fork', '3'))  # the children go on within it
        self.assertTrue(3 * 65536 <= forks <= 3 * 65536 + 6000, forks)

    def test_functions_that_are_not_entered(self):
        never, told = self.functions('--from', 'never')
        self.assertIsNone(never)
        self.assertIn('never entered the function never', told['metrics'][0]['reason'])
        done = self.run_stat('./functions', options=['--from', 'wrok'])
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr.decode(), r'wrok[\s\S]*have such a function\s+fix: did you mean work')
        done = self.run_stat('./functions', options=['--to', 'malloc'])  # of a library
        self.assertEqual(done.returncode, 0)
        done = subprocess.run([RECOUNT, 'stat', '--from', 'work', '--', './functions'], cwd=self.folder, capture_output=True)
        self.assertIn(b'add --witness model', done.stderr)

    def test_sampled(self):
        events = 'PAPI_L1_DCM,PAPI_L2_DCM,PAPI_LST_INS,PAPI_TOT_INS,PAPI_TLB_DM'
        exact, _, _ = self.values('./product', '300', events=events, machine='i7-9700')
        sampled, told, _ = self.values('./product', '300', events=events, machine='i7-9700', options=['--sample-every', '8', '--export', 'sampled.csv'])
        for row in told['metrics']:
            self.assertEqual(row['witness'], 'model:i7-9700~sample')
            flags = ' '.join(row.get('flags', ()))
            if row['name'] in ('PAPI_LST_INS', 'PAPI_TOT_INS'):
                self.assertEqual((flags, row['mean']), ('', exact[row['name']]))
                continue
            percent, error = map(float, re.search(r'sampled ([\d.]+) % of the accesses, error (\d+)', flags).groups())
            self.assertTrue(10 < percent < 40, flags)
            self.assertLessEqual(abs(row['mean'] - exact[row['name']]), error, (row, exact))
            self.assertNotEqual(row['mean'], exact[row['name']])
            if row['name'] == 'PAPI_L1_DCM':
                self.assertLess(error, 0.1 * row['mean'])
        self.assertRegex((self.folder / 'sampled.csv').read_text(), r'PAPI_L1_DCM,value,\d+,\d+,\d+,,model:i7-9700~sample,1,0,\n.*,PAPI_L1_DCM,share of the accesses simulated,0\.\d+,,,,model')
        text = subprocess.run([RECOUNT, 'stat', '-e', 'PAPI_L1_DCM', '--witness', f'model:{MACHINE}', '--sample-every', '8', '--', './product', '300'],
                              cwd=self.folder, capture_output=True, text=True, env={**os.environ, 'COLUMNS': '160'}).stderr
        swept = subprocess.run([RECOUNT, 'sweep', '-P', 'n=300', '-e', 'PAPI_L1_DCM', '--witness', 'model:i7-9700', '--sample-every', '8', '-o', '-', '-q', '--',
                                './product', '{n}'], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        observed = json.loads(swept.splitlines()[-1])
        self.assertEqual(observed['witness'], 'model:i7-9700~sample')
        self.assertAlmostEqual(observed['value'], told['metrics'][0]['mean'], delta=observed['flags'][0]['error'])
        self.assertRegex(text, r'PAPI_L1_DCM +model:i7-9700~no-tlb~sample +[\d,]+ +sampled [\d.]+ %: \+- \d+')

    def test_sampled_short_programs(self):
        exact, _, _ = self.values('./map', '/dev/null', events='PAPI_L1_DCM')
        short, told, _ = self.values('./section', options=['--sample-every', '100'])
        self.assertIn('error 0', ' '.join(told['metrics'][0]['flags']))  # simulated completely
        few, told, _ = self.values('./product', '200', options=['--sample-every', '1000'])
        self.assertIsNone(few['PAPI_L1_DCM'])
        self.assertIn('too few windows', told['metrics'][0]['reason'])

    # Behaviour.

    def test_status_streams_and_exec(self):
        done = self.run_stat('sh', '-c', 'exit 7')
        self.assertEqual(done.returncode, 7)
        text = b'line\n' * 100000
        done = self.run_stat('sh', '-c', 'exec cat', stdin=text)
        self.assertEqual((done.returncode, done.stdout[:len(text)]), (0, text))

    def test_mapped_file(self):
        (self.folder / 'mapped').write_bytes(b'\1' * (1 << 20))
        values, _, done = self.values('./map', 'mapped', events='PAPI_LD_INS')
        self.assertEqual(done.stdout[:6], b'16384\n')
        self.assertGreaterEqual(values['PAPI_LD_INS'], 16384)

    def test_crash(self):
        values, told, done = self.values('./crash', events='PAPI_SR_INS')
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertGreaterEqual(values['PAPI_SR_INS'], 16384)
        self.assertEqual(told['metrics'][0]['flags'], ['incomplete: killed by signal 11 (SIGSEGV)'])
        values, told, _ = self.values('./crash', events='PAPI_SR_INS', options=['-r', '2'])
        self.assertEqual((values['PAPI_SR_INS'], told['runs']['completed']), (None, 0))

    def test_descriptors_of_the_user(self):
        read, write = os.pipe()
        os.write(write, b'given')
        os.close(write)
        done = subprocess.run(self.command('sh', '-c', f'cat <&{read}'), pass_fds=[read], capture_output=True, timeout=PATIENCE)
        os.close(read)
        self.assertEqual((done.returncode, done.stdout[:5]), (0, b'given'))
        self.assertNotIn(b'==', done.stderr)

    def test_instruction_that_valgrind_lacks(self):
        values, told, done = self.values('./avx512')
        self.assertEqual(done.returncode, 128 + signal.SIGILL)
        self.assertIsNone(values['PAPI_L1_DCM'])
        self.assertRegex(told['metrics'][0]['reason'], 'AVX-512.*Valgrind.*-march=x86-64-v3')

    def doubts(self, *command, **how):
        """The value, the flags and the reason of the only row."""
        _, told, done = self.values(*command, **how)
        row = told['metrics'][0]
        return row['mean'], ' '.join(row.get('flags', ())), row.get('reason', ''), done

    def test_illegal_instructions_that_are_not_executed_or_handled(self):
        value, flags, _, done = self.doubts('./probe')
        self.assertEqual((done.returncode, value is None, flags), (1, False, 'incomplete: exit status 1'))
        value, flags, _, done = self.doubts('./probe', 'x')
        self.assertEqual((done.returncode, value is None), (1, False))
        self.assertIn('SIGILL', flags)

    def test_other_users_and_namespaces_are_counted(self):
        if os.geteuid() != 0:
            self.skipTest('only root becomes another user')
        os.chmod(self.folder, 0o755)
        tool = self.folder / 'tool'  # the build may be below a folder that other users cannot enter
        tool.mkdir()
        for file in (pathlib.Path(RECOUNT).resolve().parent / 'model/trace').iterdir():
            if file.is_file():
                shutil.copy(file, tool)
        libexec = unittest.mock.patch.dict(os.environ, RECOUNT_LIBEXEC=str(tool))
        libexec.start()
        self.addCleanup(libexec.stop)
        ways = [['setpriv', '--reuid', '65534', '--clear-groups'], ['unshare', '--pid', '--fork', '--mount-proc'], ['env', '-i']]
        for way in ways:
            if subprocess.run([*way, 'true'], capture_output=True).returncode != 0:
                print('left out, not possible here:', *way)
                continue
            counts = []
            for processes in '1', '11':
                value, flags, reason, done = self.doubts(*way, './fork', processes, events='PAPI_SR_INS')
                self.assertEqual((done.returncode, flags, reason), (3, 'incomplete: exit status 3', ''), way)
                counts.append(value)
            each = (counts[1] - counts[0]) / 10
            self.assertTrue(65536 <= each <= 65536 + 2000, (way, each))

    def test_processes_that_are_lost(self):
        # The first cannot be forked or not be started; the second has begun, and does not end by itself.
        for script in 'ulimit -v 30000; ./map /dev/null; true', './spin > /dev/null & sleep 2; kill -9 $!; wait; true':
            value, _, reason, _ = self.doubts('sh', '-c', script)
            self.assertIsNone(value, script)
            self.assertIn('not simulated', reason)

    def test_what_valgrind_refuses_is_told(self):
        value, flags, _, _ = self.doubts('./large')
        self.assertIsNotNone(value)
        self.assertIn('1 mapping of 64 GiB', flags)
        copy = self.folder / 'privileged'
        shutil.copy(self.folder / 'map', copy)
        copy.chmod(0o4755)
        value, flags, _, done = self.doubts('sh', '-c', './privileged; true')
        self.assertEqual((done.returncode, value is None), (0, False))
        self.assertIn('set-user-ID', flags)

    def test_a_corrupt_ring_ends(self):
        value, _, reason, done = self.doubts('./corrupt')
        self.assertEqual((done.returncode, value), (0, None))
        self.assertIn('overwritten', reason)

    def test_a_bad_pointer_is_no_section(self):
        value, _, reason, done = self.doubts('./pointer', options=['--section', 'work'])
        self.assertEqual((done.returncode, value), (0, None))
        self.assertIn('never began', reason)

    def test_valgrind_that_does_not_start(self):
        done = subprocess.run(self.command('true'), cwd=self.folder, capture_output=True, env={**os.environ, 'TMPDIR': '/nonexistent'})
        self.assertEqual((done.returncode, done.stdout), (125, b''), done.stderr)
        self.assertIn(b'TMPDIR = /nonexistent', done.stderr)

    def test_refused_programs(self):
        copy = self.folder / 'setuid'
        shutil.copy(self.folder / 'map', copy)
        copy.chmod(0o4755)
        small = self.folder / 'other'
        head = bytearray((self.folder / 'map').read_bytes())
        head[4] = 1  # ELFCLASS32
        small.write_bytes(head)
        small.chmod(0o755)
        for name, why in (('./setuid', b'set-user-ID'), ('./other', b'32 bits')):
            done = self.run_stat(name)
            self.assertEqual(done.returncode, 125)
            self.assertIn(why, b' '.join(done.stderr.split()))
            self.assertIn(b'fix: ', done.stderr)
        self.assertEqual(self.run_stat('./nothing').returncode, 127)
        self.assertEqual(self.run_stat('/etc/passwd').returncode, 126)
        done = subprocess.run(self.command('./map', machine='i7-9070'), cwd=self.folder, capture_output=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b'i7-9700', done.stderr)

    def test_without_valgrind(self):
        done = subprocess.run(self.command('./map'), cwd=self.folder, capture_output=True, env={'PATH': str(self.folder)})
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr.decode(), r'valgrind is not installed[\s\S]*\n +fix: apt-get install valgrind')

    # Signals. Each program is in a process group of its own, as a shell's jobs are.

    def start(self, *command, **how):
        child = subprocess.Popen(self.command(*command, **how), cwd=self.folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.remove, child)
        self.assertEqual(child.stdout.readline(), b'spinning\n')
        return child

    @staticmethod
    def remove(child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.stdout.close()
        child.stderr.close()
        child.wait()

    def traced(self, child):
        """The traced program, a child of recount."""
        text = pathlib.Path(f'/proc/{child.pid}/task/{child.pid}/children').read_text()
        return int(text.split()[0])

    def test_interrupt_at_full_speed(self):
        child = self.start('./spin', events='PAPI_SR_INS')
        time.sleep(0.5)
        os.killpg(child.pid, signal.SIGINT)
        out, _ = child.communicate(timeout=PATIENCE)
        self.assertEqual(child.returncode, 128 + signal.SIGINT)
        self.assertGreater(json.loads(out)['metrics'][0]['mean'], 10000)

    def test_the_program_is_killed(self):
        child = self.start('./spin', events='PAPI_SR_INS')
        time.sleep(0.5)
        os.kill(self.traced(child), signal.SIGKILL)
        out, _ = child.communicate(timeout=PATIENCE)
        self.assertEqual(child.returncode, 128 + signal.SIGKILL)
        self.assertGreater(json.loads(out)['metrics'][0]['mean'], 10000)

    def test_recount_is_killed(self):
        child = self.start('./spin')
        program = self.traced(child)
        [memory] = {os.stat(link).st_ino for link in pathlib.Path(f'/proc/{child.pid}/fd').iterdir()
                    if 'memfd:recount-trace' in os.readlink(link)}
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        used = lambda: sum(map(int, pathlib.Path(f'/proc/{program}/stat').read_text().rsplit(')')[1].split()[11:13]))
        time.sleep(1.5)
        before = used()
        for _ in range(PATIENCE * 10):  # it runs on, not traced
            if used() > before + 5:
                break
            time.sleep(0.1)
        self.assertGreater(used(), before)
        os.kill(program, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while memory in self.memories() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertNotIn(memory, self.memories())
        self.assertEqual([name for name in os.listdir('/dev/shm') if 'recount' in name], [])

    @staticmethod
    def memories():
        """Shared memories of traced programs that any process has open: other tests have theirs."""
        found = set()
        for link in pathlib.Path('/proc').glob('[0-9]*/fd/*'):
            try:
                if 'memfd:recount-trace' in os.readlink(link):
                    found.add(os.stat(link).st_ino)
            except OSError:
                continue
        return found


if __name__ == '__main__':
    programs.skip_untraceable(RECOUNT)
    unittest.main(verbosity=2)
