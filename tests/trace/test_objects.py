#!/usr/bin/env python3
"""recount profile --by object on programs whose misses on each of their data are known: test_objects.py RECOUNT."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import object_programs
import programs

RECOUNT = os.path.abspath(sys.argv.pop(1))
os.environ['COLUMNS'] = '200'  # also seen by the simulated programs
os.environ.pop('MALLOC_PERTURB_', None)  # of meson: malloc() and free() then fill blocks
EVENT = 'model:i7-9700~no-tlb:PAPI_L1_DCM'
KB = 16  # lines


class Objects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='recount-objects-'))
        object_programs.build(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def run_profile(self, *command, options=('--by', 'object')):
        return subprocess.run([RECOUNT, 'profile', '-e', EVENT, *options, '--', *command], cwd=self.folder, capture_output=True,
                              text=True, timeout=240)

    def told(self, *command, by='object'):
        done = self.run_profile(*command, options=['--json', '--by', by])
        self.assertIn('{', done.stdout, done.stderr)
        return json.loads(done.stdout[done.stdout.index('{'):]), done

    def objects(self, *command):
        """Objects by name, with their misses; none are missing."""
        told, done = self.told(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row['object']['name']: row['object'] | {'misses': row['events'][EVENT]['weight']} for row in told['by_object']}
        self.assertEqual(sum(row['events'][EVENT]['weight'] for row in told['by_object']), told['events'][0]['counted'])
        return rows

    def near(self, row, lines):
        # The line at an end of a block may have been brought in by the allocator, or belong to its neighbour.
        self.assertLessEqual(abs(row['misses'] - lines), 3, row)

    def from_line(self, rows, source, text, function='main'):
        return rows[f'heap block from {function} ({source}:{object_programs.line_of(source, text)})']

    def test_variables(self):
        for program in 'variables', 'fixed':
            symbols = {words[3]: int(words[1], 16) for words in (line.split() for line in subprocess.run(
                ['nm', '-S', program], cwd=self.folder, capture_output=True, text=True).stdout.splitlines()) if len(words) == 4}
            rows = self.objects('./' + program)
            for name, lines, low in (('b', 1024 * KB, 0), ('c', 448 * KB, 65536), ('inner.0', 256 * KB, 0)):
                row = rows[name]
                self.assertEqual((row['kind'], row['bytes']), ('variable', symbols[name]))
                self.assertEqual(row['module'], str(self.folder / program))
                self.near(row, lines)
                self.assertEqual((row['offset_low'], row['offset_high']), (low, row['bytes'] - 64))

    def test_variables_of_a_separate_debug_file(self):
        separate = self.folder / 'separate'
        separate.mkdir()
        for command in (['objcopy', '--only-keep-debug', 'variables', 'separate/variables.debug'],
                        ['objcopy', '--strip-all', '--add-gnu-debuglink=separate/variables.debug', 'variables', 'split']):
            subprocess.run(command, cwd=self.folder, check=True)
        self.assertNotIn('b', self.objects('./split'))
        done = self.run_profile('./split', options=['--by', 'object', '--debug-path', str(separate)])
        self.assertRegex(done.stderr, r' 16384  b +1 MiB')

    def test_variables_of_one_name(self):
        rows = self.objects('./twins')
        twins = sorted(row['misses'] for name, row in rows.items() if re.fullmatch('own at 0x[0-9a-f]+', name))
        self.assertEqual(twins, [64 * KB, 128 * KB])

    def test_heap_blocks(self):
        for program in 'heap', 'static_heap':
            if not (self.folder / program).exists():
                continue
            done = subprocess.run(['./' + program], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.stdout, '')
            rows = self.objects('./' + program)
            # Freed memory that is allocated again belongs to its next block.
            self.near(self.from_line(rows, 'heap.c', 'char* p ='), 96 * KB)
            self.near(self.from_line(rows, 'heap.c', 'char* q ='), 96 * KB)
            line = object_programs.line_of('heap.c', 'malloc(bytes)')
            for function, text, lines in (('small', 'void* small', 64 * KB), ('main', 'two = wrapped', 32 * KB)):
                name = f"heap block from wrapped (heap.c:{line}), called by {function} (heap.c:{object_programs.line_of('heap.c', text)})"
                self.near(rows[name], lines)
            self.near(self.from_line(rows, 'heap.c', 'posix_memalign'), 48 * KB)
            # Each block takes the memory of the one before it.
            loop = self.from_line(rows, 'heap.c', 'loop = aligned_alloc')
            self.assertEqual((loop['blocks'], loop['bytes']), (100, 100 * 4096))
            grown = self.from_line(rows, 'heap.c', 'realloc(grown, i')
            self.assertEqual((grown['blocks'], grown['bytes'], grown['kind']), (8, 360 * 1024, 'heap'))
            # The block lives on where realloc() fails: two passes over 80 KiB, and what was copied or grown before.
            self.assertGreaterEqual(grown['misses'], 2 * 80 * KB - 8)
            # The program does not touch it, calloc() does.
            self.assertGreater(self.from_line(rows, 'heap.c', 'z = calloc(1, 100 * KB); /* from')['misses'], 1000)
            self.assertLess(rows.get('unknown memory', {'misses': 0})['misses'], 1000)

    def test_stacks(self):
        rows = self.objects('./stacks')
        for thread, lines in ((1, 384 * KB), (2, 512 * KB)):
            row = rows[f'stack of thread {thread}']
            self.assertEqual(row['kind'], 'stack')
            self.assertAlmostEqual(row['misses'], lines, delta=300)

    def test_threads_allocate(self):
        row = self.from_line(self.objects('./threads'), 'threads.c', 'own = malloc', function='run')
        self.assertEqual((row['blocks'], row['bytes']), (4, 4 * 48 * 1024))
        self.assertAlmostEqual(row['misses'], 4 * 48 * KB, delta=12)

    def test_program_that_another_executes(self):
        self.near(self.objects('sh', '-c', 'exec ./variables')['b'], 1024 * KB)

    def test_mapped_files(self):
        file = self.folder / 'data'
        file.write_bytes(bytes(300 * 1024))
        rows = self.objects('./maps', str(file))
        row = rows[f'file {file}']
        self.assertEqual(row['kind'], 'file')
        self.near(row, 256 * KB)
        row = rows[f"memory mapped by main (maps.c:{object_programs.line_of('maps.c', 'MAP_FIXED')})"]  # what took its place
        self.assertEqual(row['kind'], 'mapped')
        self.near(row, 128 * KB)

    def test_forked(self):
        rows = self.objects('./forked')
        self.near(rows['lines'], 2 * 128 * KB)
        self.near(self.from_line(rows, 'forked.c', 'char* p ='), 64 * KB)
        self.near(self.from_line(rows, 'forked.c', 'char* own ='), 96 * KB)

    def test_allocator_of_the_program(self):
        rows = self.objects('./nested')
        self.near(self.from_line(rows, 'nested.c', 'p = malloc(64'), 64 * KB)
        outer = self.from_line(rows, 'nested.c', 'q = calloc')
        self.near(outer, 32 * KB)
        self.assertEqual((outer['blocks'], outer['bytes']), (1, 32 * 1024))  # not that of the malloc() within
        self.near(rows['pool'], 16 * KB)  # of which no block was made

    def test_libraries_that_come_and_go(self):
        rows = self.objects('./plugins', './library_a.so', './library_b.so', './library_a.so')
        self.near(rows['second'], 192 * KB)
        self.assertAlmostEqual(rows['first']['misses'], 2 * 128 * KB, delta=6)
        self.assertEqual(rows['second']['module'], str(self.folder / 'library_b.so'))

    def test_without_symbols(self):
        rows = self.objects('./stripped')
        row = rows[f"file {self.folder / 'stripped'}"]
        self.assertAlmostEqual(row['misses'], (1024 + 448 + 256) * KB, delta=100)
        rows = self.objects('./stripped_heap')
        blocks = [row['misses'] for name, row in rows.items() if re.fullmatch(r'heap block from stripped_heap\+0x[0-9a-f]+', name)]
        for lines in (96 * KB, 64 * KB, 48 * KB, 32 * KB):
            self.assertTrue(any(abs(misses - lines) <= 3 for misses in blocks), (lines, blocks))

    def test_operator_new(self):
        rows = self.objects('./news')
        for text, lines in (('char* const plain', 256), ('char* const nothrow', 128 + 64), ('new Wide;', 40), ('v(96 * KB)', 96),
                            ('after = new', 16)):
            self.near(self.from_line(rows, 'news.cpp', text), lines * KB)
        own = [row for name, row in rows.items() if name.startswith('heap block from Own::operator new')]
        self.assertEqual(len(own), 1)
        self.near(own[0], 24 * KB)

    def test_counts_are_those_without_objects(self):
        """The program's own allocator runs: addresses and accesses stay the same."""
        told, _ = self.told('./heap')
        without, _ = self.told('./heap', by='line')
        self.assertAlmostEqual(told['events'][0]['counted'] / without['events'][0]['counted'], 1, delta=0.01)

    def test_lines_and_annotation(self):
        told, _ = self.told('./variables', by='line+object')
        touch = object_programs.line_of('variables.c', 'for (long i')
        by_object = {row['object']['name']: row['events'][EVENT]['weight'] for row in told['by_line_object'] if row['line'] == touch}
        self.assertEqual({'b': 1024 * KB, 'c': 448 * KB, 'inner.0': 256 * KB}, by_object)
        done = self.run_profile('./variables', options=['--by', 'line', '--annotate', 'touch'])
        self.assertRegex(done.stderr, r'for \(long i.*b \(59 %\), c \(26 %\), inner\.0 \(15 %\)')
        file = self.folder / 'results.jsonl'
        self.run_profile('./variables', options=['--by', 'object', '-o', str(file)])
        params = [json.loads(line).get('params', {}) for line in file.read_text().splitlines()]
        self.assertIn('inner.0', {each.get('object') for each in params})

    def test_refused(self):
        done = subprocess.run([RECOUNT, 'profile', '--by', 'object', '-e', 'cpu-clock', '--', 'true'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn('needs a modelled event', done.stderr)


if __name__ == '__main__':
    programs.skip_untraceable(RECOUNT)
    unittest.main(verbosity=2)
