#!/usr/bin/env python3
"""recount profile -e model:... on a slow transposition: test_profile.py RECOUNT. Exit 77 where no program can be traced."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import programs

RECOUNT = os.path.abspath(sys.argv.pop(1))
os.environ['COLUMNS'] = '200'  # also seen by the simulated programs
MACHINE = 'i7-9700~no-tlb'
KINDS = 'MODEL_L1_COMPULSORY', 'MODEL_L1_CAPACITY', 'MODEL_L1_CONFLICT', 'MODEL_L1_COHERENCE'
SIZE = 256  # as in the program: doubles, so that a column has one line per row, all in two sets


class Profiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='recount-trace-'))
        programs.build(cls.folder, 'transpose', 'fork', 'section', 'functions', 'pages', 'product', 'turns')
        programs.SOURCES['longer'] = programs.SOURCES['product'].replace('k * n + j', 'k * (n + 8) + j').replace('8L * n * n', '8L * n * (n + 8)')
        programs.build(cls.folder, 'longer')

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def run_profile(self, *command, events='PAPI_L1_DCM', options=()):
        events = ','.join(f'model:{MACHINE}:{event}' for event in events.split(','))
        return subprocess.run([RECOUNT, 'profile', '-e', events, *options, '--', *command], cwd=self.folder, capture_output=True,
                              text=True, timeout=240)

    def profile(self, *command, **how):
        how['options'] = [*how.get('options', ()), '--json']
        done = self.run_profile(*command, **how)
        self.assertIn('{', done.stdout, done.stderr)
        return json.loads(done.stdout[done.stdout.index('{'):]), done

    def line(self, text):
        lines = programs.SOURCES['transpose'].splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    def test_killed_program_is_incomplete(self):
        told, done = self.profile('sh', '-c', 'kill -TERM $$')
        self.assertEqual((done.returncode, told['complete']), (143, False))
        self.assertRegex(self.run_profile('sh', '-c', 'kill -TERM $$').stderr, 'incomplete: killed by signal 15')
        results = self.run_profile('sh', '-c', 'kill -TERM $$', options=['-o', '-']).stdout
        self.assertIn('incomplete: killed by signal 15', json.loads(results.splitlines()[1])['flags'][1]['text'])

    def test_misses_belong_to_the_line_that_causes_them(self):
        told, done = self.profile('./transpose', 'slow', options=['--by', 'symbol,line'])
        self.assertEqual((done.returncode, told['status']), (0, 0))
        name = f'model:{MACHINE}:PAPI_L1_DCM'
        row = told['by_line'][0]
        self.assertEqual((row['function'], row['line']), ('slow', self.line('to[j][i] = from[i][j]')))
        # Each store of a column misses, each eighth load of a row.
        expected = SIZE * SIZE * 9 / 8
        self.assertAlmostEqual(row['events'][name]['weight'] / expected, 1, delta=0.005)
        self.assertTrue(told['events'][0]['every_occurrence'])
        whole = subprocess.run([RECOUNT, 'stat', '--json', '-e', 'PAPI_L1_DCM', '--witness', f'model:{MACHINE}', '--', './transpose',
                                'slow'], cwd=self.folder, capture_output=True, text=True).stdout
        self.assertEqual(told['events'][0]['counted'], json.loads(whole[whole.index('{'):])['metrics'][0]['mean'])

    def function_misses(self, way, machine=MACHINE):
        name = f'model:{machine}:PAPI_L1_DCM'
        told = subprocess.run([RECOUNT, 'profile', '-e', name, '--by', 'function', '--json', '--', './transpose', way], cwd=self.folder,
                              capture_output=True, text=True, check=True).stdout
        return next(row['events'][name]['weight'] for row in json.loads(told)['by_function'] if row['function'] == way)

    def test_padding_removes_conflicts(self):
        slow, fast = self.function_misses('slow'), self.function_misses('fast')
        lines = SIZE * SIZE / 4  # one miss per line of each matrix
        self.assertAlmostEqual(fast / lines, 1, delta=0.005)
        self.assertAlmostEqual(slow / lines, 4.5, delta=0.02)
        # Without conflicts, every column fits: the fully associative cache tells so.
        self.assertAlmostEqual(self.function_misses('slow', MACHINE + '~full') / lines, 1, delta=0.005)

    def test_tutorial(self):
        """Every number of recount-program(7) is measured here."""
        page = (programs.ROOT / 'man' / 'recount-program.7').read_text().partition('.Sh YOUR OWN PROGRAM\n')[0]
        said = {name: int(value) for name, value in re.findall(r'^\.\\" (\S+) = (\d+)$', page, re.M)}
        measured = {'slow': self.function_misses('slow'), 'fast': self.function_misses('fast'),
                    'full': self.function_misses('slow', MACHINE + '~full')}
        told, _ = self.profile('./transpose', 'slow', options=['--by', 'function', '--kinds'])
        measured['longer'] = next(row['events'][f'model:{MACHINE}:MODEL_L1_IF_PADDED']['weight'] for row in told['by_function']
                                  if row['function'] == 'slow')
        told, _ = self.profile('./transpose', 'slow', options=['--by', 'object'])
        measured['to'] = next(row['events'][f'model:{MACHINE}:PAPI_L1_DCM']['weight'] for row in told['by_object']
                              if row['object']['name'] == 'to')
        self.assertEqual(said.keys(), measured.keys())
        for name, value in measured.items():
            self.near(value, said[name])
            self.assertIn(f'{said[name]:,}', page)
        commands = re.findall(r'^\.Dl \$ (recount .*)$', page, re.M)
        self.assertEqual(len(commands), 4)
        for command in commands:
            done = subprocess.run(command.replace('recount', RECOUNT, 1).split(), cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('modelled', done.stderr)

    def test_own_program(self):
        """64 KiB are twice L1, 64 sets of 8 lines. At stride 4096, 65536/4096 = 16 lines are in one set: each access misses. At 16384,
        four lines stay, two of which are there since the array was made."""
        page = (programs.ROOT / 'man' / 'recount-program.7').read_text().partition('.Sh YOUR OWN PROGRAM\n')[2]
        commands = [shlex.split(line) for line in re.findall(r'^(?:\.Dl )?\$ (.*)$', page.replace('\\e\n', ''), re.M)]
        for name in 'walk.cpp', 'mm.cpp':
            shutil.copy(programs.ROOT / 'examples' / name, self.folder)
        for command in commands:
            if command[0] == 'g++':
                subprocess.run([*command, '-Wall', '-Wextra', '-Werror'], cwd=self.folder, check=True)
        sweeps = [command for command in commands if command[:2] == ['recount', 'sweep'] and 'clock,perf,papi' not in command]
        self.assertEqual(len(sweeps), 4)
        sweeps.append(shlex.split('recount sweep -P size=64K -P stride=4096,16384 -e PAPI_L1_DCM --witness model:i7-9700 -o - -- ./walk {size} {stride}'))
        for _, _, *words in sweeps:
            if '--plot' not in words or shutil.which('gnuplot'):
                done = subprocess.run([RECOUNT, 'sweep', '-r', '1', *words], cwd=self.folder, check=True, capture_output=True, text=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        misses = {row['params']['stride']: row['value'] for row in rows if row['type'] == 'observation'}
        self.assertLessEqual(abs(misses[4096] - misses[16384] - (10_000_000 - 2)), 10, misses)

    def near(self, value, expected):
        self.assertLessEqual(abs(value - expected), 0.005 * expected, f'{value} instead of {expected}')

    def test_annotated_source_and_results(self):
        file = self.folder / 'results.jsonl'
        done = self.run_profile('./transpose', 'slow', options=['--annotate', 'slow', '--by', 'address', '-o', str(file), '--folded', 'folded'])
        self.assertIn('modelled: simulated, not measured', done.stderr)
        self.assertRegex(done.stderr, r'\n[^\n]*\d+ [^\n]*to\[j\]\[i\] = from[^\n]* to \(89 %\)')
        rows = [json.loads(line) for line in file.read_text().splitlines()][1:]
        self.assertEqual({(row['witness'], row['metric']) for row in rows}, {(f'model:{MACHINE}', 'PAPI_L1_DCM')})
        folded = dict(line.rsplit(' ', 1) for line in (self.folder / 'folded').read_text().splitlines())
        self.assertGreater(int(folded['slow']), SIZE * SIZE)

    def test_processes(self):
        told, done = self.profile('./fork', '3', options=['--by', 'function'])
        name = f'model:{MACHINE}:PAPI_L1_DCM'
        misses = next(row['events'][name]['weight'] for row in told['by_function'] if row['function'] == 'main')
        self.assertAlmostEqual(misses / (3 * 65536), 1, delta=0.01)

    def test_kinds(self):
        told, _ = self.profile('./transpose', 'slow', options=['--by', 'function', '--kinds'])
        row = next(row for row in told['by_function'] if row['function'] == 'slow')
        kinds = {name.rsplit(':')[-1]: event['weight'] for name, event in row['events'].items()}
        lines = SIZE * SIZE / 4
        self.near(kinds['MODEL_L1_COMPULSORY'], lines)
        self.near(kinds['MODEL_L1_CONFLICT'], 3.5 * lines)
        self.assertLess(kinds['MODEL_L1_CAPACITY'], 100)
        self.assertEqual(set(kinds), {'PAPI_L1_DCM', 'MODEL_L1_COMPULSORY', 'MODEL_L1_CAPACITY', 'MODEL_L1_CONFLICT',
                                      'MODEL_L1_COHERENCE', 'MODEL_L1_IF_FULL', 'MODEL_L1_IF_TWICE', 'MODEL_L1_IF_PADDED'})
        self.assertEqual(kinds['PAPI_L1_DCM'], sum(value for name, value in kinds.items() if name in KINDS))
        self.near(kinds['MODEL_L1_IF_FULL'], lines)
        # The program whose rows are longer has one miss per line; here, the first column decides that they are padded.
        self.assertGreaterEqual(kinds['MODEL_L1_IF_PADDED'], self.function_misses('fast'))
        self.assertLess(kinds['MODEL_L1_IF_PADDED'], self.function_misses('fast') + 300)
        self.near(kinds['MODEL_L1_IF_TWICE'], 4.5 * lines)  # a column has 256 lines, two sets of 16 ways hold 32
        whole = [event['counted'] for event in told['events']]
        self.assertEqual(whole[0], sum(whole[1:5]))
        # A second pass over 1 MiB misses by capacity alone.
        told, _ = self.profile('./section', options=['--by', 'function', '--kinds', '--section', 'work'])
        row = next(row for row in told['by_function'] if row['function'] == 'store')
        kinds = {name.rsplit(':')[-1]: event['weight'] for name, event in row['events'].items()}
        self.near(kinds['MODEL_L1_COMPULSORY'], 16384)
        self.near(kinds['MODEL_L1_CAPACITY'], 16384)

    def test_lines_that_threads_take_from_each_other(self):
        told, _ = self.profile('./turns', options=['--by', 'function', '--kinds'])
        row = next(row for row in told['by_function'] if row['function'] == 'run')
        kinds = {name.rsplit(':')[-1]: event['weight'] for name, event in row['events'].items()}
        self.near(kinds['MODEL_L1_COHERENCE'], 199 * 256)  # all turns but the first
        self.assertEqual(kinds['PAPI_L1_DCM'], sum(value for name, value in kinds.items() if name in KINDS))

    def test_larger_and_full_caches_as_cachegrind(self):
        # Sizes with so many misses that those of the start, which change with the environment's size, do not matter.
        for name, cache, size in (('MODEL_L1_IF_FULL', '32768,512,64', '128'), ('MODEL_L1_IF_TWICE', '65536,16,64', '88')):
            told, _ = self.profile('./product', size, options=['--by', 'function', '--kinds'])
            counted = {event['name'].rsplit(':')[-1]: event['counted'] for event in told['events']}
            done = subprocess.run(['valgrind', '--tool=cachegrind', '--cache-sim=yes', '--cachegrind-out-file=/dev/null',
                                   f'--D1={cache}', './product', size], cwd=self.folder, capture_output=True, text=True)
            self.near(counted[name], int(re.search(r' D1 +misses: +([\d,]+)', done.stderr)[1].replace(',', '')))
            self.assertGreater(counted['PAPI_L1_DCM'], 4 * counted[name])

    def test_page_walks(self):
        machine = MACHINE.removesuffix('~no-tlb')
        done = subprocess.run([RECOUNT, 'profile', '-e', f'model:{machine}:PAPI_TLB_DM', '--kinds', '--by', 'line', '--json', '--',
                               './pages'], cwd=self.folder, capture_output=True, text=True)
        row = json.loads(done.stdout)['by_line'][0]
        counts = {name.rsplit(':')[-1]: event['weight'] for name, event in row['events'].items()}
        # 2000 pages do not fit in 1536 entries of 12 ways, in which each set has at least 15, but in twice as many.
        self.assertEqual((counts['MODEL_WALKS'], counts['MODEL_WALKS_IF_TWICE']), (20000, 2000))
        self.assertIn(counts['MODEL_WALKS_IF_HUGE'], (4, 5))  # 8 MB, perhaps not from the beginning of a huge page
        done = subprocess.run([RECOUNT, 'profile', '-e', f'model:{machine}:PAPI_TLB_DM', '--kinds', '--by', 'line', '--', './pages'],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertRegex(done.stderr, r'pages\.c:\d+ on pages: .*20000 page walks, [45] with pages of 2 MiB, 2000 with twice the TLB entries\.')
        self.assertNotIn('MODEL_WALKS', done.stderr)

    def test_advice(self):
        done = self.run_profile('./transpose', 'slow', options=['--kinds', '--by', 'line'])
        self.assertRegex(done.stderr, r'transpose\.c:16 on to: 737\d\d misses in L1d, 163\d\d if L1d were fully associative, '
                         r'16\d\d\d if the rows of to \(2048 bytes\) were a line longer\.')
        # As the program whose blocks really have longer rows; the blocks that were freed before are not moved.
        padded = int(re.search(r'(\d+) if the rows of heap block from main \(product\.c:\d+\) \(1024 bytes\) were', self.run_profile(
            './product', '128', options=['--kinds', '--by', 'line']).stderr)[1])
        told, _ = self.profile('./longer', '128', options=['--by', 'line'])
        real = told['by_line'][0]['events'][f'model:{MACHINE}:PAPI_L1_DCM']['weight']
        self.assertAlmostEqual(padded / real, 1, delta=0.05)
        # Misses that no other cache avoids.
        done = self.run_profile('./section', options=['--kinds', '--by', 'line'])
        self.assertRegex(done.stderr, r'on (lines|others): \d+ misses in L1d, no fewer if it were fully associative or twice as large\.')

    def test_section(self):
        told, done = self.profile('./section', options=['--by', 'function', '--section', 'work'])
        name = f'model:{MACHINE}:PAPI_L1_DCM'
        misses = {row['function']: row['events'][name]['weight'] for row in told['by_function']}
        self.assertAlmostEqual(misses['store'] / (2 * 16384), 1, delta=0.01)
        self.assertLess(told['events'][0]['counted'], 1.02 * 2 * 16384)

    def test_from_function(self):
        told, _ = self.profile('./functions', options=['--by', 'function', '--from', 'work'])
        self.assertTrue(1024 <= told['events'][0]['counted'] <= 3 * 1024 + 50, told['events'])
        self.assertLessEqual({row['function'] for row in told['by_function']}, {'work', 'store'})
        told, done = self.profile('./functions', options=['--by', 'function', '--from', 'never'])
        self.assertIn('never entered the function never', json.dumps(told))

    def test_sampled(self):
        def of_main(told):
            return next(row for row in told['by_symbol'] if row['function'] == 'main')['events']
        exact, _ = self.profile('./product', '300', options=['--by', 'symbol'])
        sampled, done = self.profile('./product', '300', options=['--by', 'symbol,object', '--sample-every', '8'])
        event, = sampled['events']
        self.assertEqual((event['name'], event['every_occurrence']), (f'model:{MACHINE}~sample:PAPI_L1_DCM', False))
        percent, error = map(float, re.fullmatch(r'sampled ([\d.]+) % of the accesses, error (\d+)', event['flags'][0]).groups())
        self.assertTrue(10 < percent < 40 and error < 0.02 * event['counted'], event)
        self.assertTrue(event['samples'] < 0.5 * event['counted'], event)
        whole = exact['events'][0]['counted']
        self.assertLessEqual(abs(event['counted'] - whole), error, (event, whole))
        self.assertNotEqual(event['counted'], whole)
        counts = [of_main(told)[told['events'][0]['name']]['weight'] for told in (exact, sampled)]
        self.assertLessEqual(abs(counts[0] - counts[1]), error, counts)
        self.assertIn('heap block from main', sampled['by_object'][0]['object']['name'])
        text = self.run_profile('./product', '300', options=['--sample-every', '8', '--by', 'symbol', '-o', 'sampled.jsonl']).stderr
        self.assertRegex(text, r'~sample:PAPI_L1_DCM: \d+ occurrences, modelled, sampled [\d.]+ % of the accesses, error \d+')
        shown = int(re.search(r'(\d+) +main', text)[1])
        self.assertLessEqual(abs(shown - counts[0]), error, text)
        row = next(row for row in map(json.loads, (self.folder / 'sampled.jsonl').read_text().splitlines()) if row.get('metric'))
        self.assertEqual((row['witness'], row['metric']), (f'model:{MACHINE}~sample', 'PAPI_L1_DCM'))
        self.assertRegex(' '.join(flag['text'] for flag in row['flags']), 'sampled .* error')

    def test_sampled_like_stat(self):  # the same windows
        options = ['--sample-every', '8']
        told = self.profile('./product', '300', options=options)[0]['events'][0]['counted']
        out = subprocess.run([RECOUNT, 'stat', '--json', '-e', 'PAPI_L1_DCM', '--witness', f'model:{MACHINE}', *options, '--', './product', '300'],
                             cwd=self.folder, capture_output=True, text=True, timeout=240).stdout
        self.assertAlmostEqual(json.loads(out[out.index('{'):])['metrics'][0]['mean'] / told, 1, delta=1e-4)

    def test_sampled_refused(self):
        few, _ = self.profile('./product', '200', options=['--sample-every', '1000'])
        self.assertEqual((few['events'][0]['counted'], 'too few windows' in few['events'][0]['reason']), (None, True))
        complete, _ = self.profile('./section', options=['--sample-every', '100'])
        self.assertIn('error 0', complete['events'][0]['flags'][0])
        self.assertIn('kinds of misses', self.run_profile('./section', options=['--sample-every', '8', '--kinds']).stderr)
        done = subprocess.run([RECOUNT, 'profile', '--sample-every', '8', '--', './section'], cwd=self.folder, capture_output=True, text=True)
        self.assertIn('add -e model:PAPI_L1_DCM', done.stderr)

    def test_refused(self):
        for events, why in (('PAPI_LD_INS', 'changes with accesses that hit'), ('PAPI_L7_DCM', 'has no such metric'),
                            ('MODEL_WALKS', 'has no such metric')):
            done = self.run_profile('true', events=events)
            self.assertEqual(done.returncode, 125)
            self.assertIn(why, done.stderr)
        done = subprocess.run([RECOUNT, 'profile', '-e', f'model:{MACHINE}:PAPI_L1_DCM,cpu-clock', '--', 'true'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn('either measured or modelled', done.stderr)


if __name__ == '__main__':
    programs.skip_untraceable(RECOUNT)
    unittest.main(verbosity=2)
