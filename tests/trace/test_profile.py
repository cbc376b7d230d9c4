#!/usr/bin/env python3
"""recount profile -e model:... on a slow transposition: test_profile.py RECOUNT. Exit 77 where no program can be traced."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import programs

RECOUNT = os.path.abspath(sys.argv.pop(1))
MACHINE = 'i7-9700~no-tlb'
SIZE = 256  # as in the program: doubles, so that a column has one line per row, all in two sets


class Profiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='recount-trace-'))
        programs.build(cls.folder, 'transpose', 'fork', 'section', 'functions')

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
        page = (pathlib.Path(__file__).resolve().parents[2] / 'man' / 'recount-program.7').read_text()
        said = {name: int(value) for name, value in re.findall(r'^\.\\" (\S+) = (\d+)$', page, re.M)}
        measured = {'slow': self.function_misses('slow'), 'fast': self.function_misses('fast'),
                    'full': self.function_misses('slow', MACHINE + '~full')}
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

    def near(self, value, expected):
        self.assertLessEqual(abs(value - expected), 0.005 * expected, f'{value} instead of {expected}')

    def test_annotated_source_and_results(self):
        file = self.folder / 'results.jsonl'
        done = self.run_profile('./transpose', 'slow', options=['--annotate', 'slow', '--by', 'address', '-o', str(file), '--folded', 'folded'])
        self.assertIn('modelled: simulated, not measured', done.stderr)
        self.assertRegex(done.stderr, r'\n[^\n]*\d+ [^\n]*to\[j\]\[i\] = from')
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
        self.assertEqual(kinds.pop('PAPI_L1_DCM'), sum(kinds.values()))
        whole = [event['counted'] for event in told['events']]
        self.assertEqual(whole[0], sum(whole[1:]))
        # A second pass over 1 MiB misses by capacity alone.
        told, _ = self.profile('./section', options=['--by', 'function', '--kinds', '--section', 'work'])
        row = next(row for row in told['by_function'] if row['function'] == 'store')
        kinds = {name.rsplit(':')[-1]: event['weight'] for name, event in row['events'].items()}
        self.near(kinds['MODEL_L1_COMPULSORY'], 16384)
        self.near(kinds['MODEL_L1_CAPACITY'], 16384)

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

    def test_refused(self):
        for events, why in (('PAPI_LD_INS', 'changes with accesses that hit'), ('PAPI_L7_DCM', 'has no such metric')):
            done = self.run_profile('true', events=events)
            self.assertEqual(done.returncode, 125)
            self.assertIn(why, done.stderr)
        done = subprocess.run([RECOUNT, 'profile', '-e', f'model:{MACHINE}:PAPI_L1_DCM,cpu-clock', '--', 'true'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn('either measured or modelled', done.stderr)


if __name__ == '__main__':
    programs.skip_untraceable(RECOUNT)
    unittest.main(verbosity=2)
