#!/usr/bin/env python3
"""The programs and sweeps of recount-program(7), as the page says: test_examples.py RECOUNT. Exit 77 where no program can be traced."""
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
PAGE = (programs.ROOT / 'man' / 'recount-program.7').read_text().partition('.Sh YOUR OWN PROGRAM\n')[2]
COMMANDS = [shlex.split(line) for line in re.findall(r'^(?:\.Dl )?\$ (.*)$', PAGE.replace('\\e\n', ''), re.M)]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='recount-examples-'))
        for name in 'walk.cpp', 'mm.cpp':
            shutil.copy(programs.ROOT / 'examples' / name, cls.folder)
        for command in (command for command in COMMANDS if command[0] == 'g++'):
            cls.run_there([*command, '-Wall', '-Wextra', '-Werror'])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def run_there(cls, command):
        words = [RECOUNT if word == 'recount' else word for word in command]
        return subprocess.run(words, cwd=cls.folder, check=True, capture_output=True, text=True, timeout=240).stdout

    def test_misses_by_hand(self):
        """64 KiB are twice the L1 of 64 sets of 8 lines. At stride 4096, the 65536/4096 = 16 lines are in one set: each access misses.
        At stride 16384, the four lines stay; two of them do so since the array was made."""
        told = self.run_there(shlex.split('recount sweep -P size=64K -P stride=4096,16384 -e PAPI_L1_DCM --witness model:i7-9700 -q '
                                          '-o - -- ./walk {size} {stride}'))
        misses = {row['params']['stride']: row['value'] for row in map(json.loads, told.splitlines()) if row['type'] == 'observation'}
        said = int(re.search(r'difference of ([\d,]+)$', PAGE, re.M)[1].replace(',', ''))
        self.assertEqual(said, 10_000_000 - 2)
        self.assertLessEqual(abs(misses[4096] - misses[16384] - said), 10, misses)

    def test_commands_of_the_page(self):
        self.assertRegex(self.run_there(['./mm', 'line', '100']), r'^\d\.\d+ s, \d+\.\d+ GFLOP/s\n$')
        sweeps = [command for command in COMMANDS if command[:2] == ['recount', 'sweep'] and 'papi' not in str(command)]
        self.assertEqual(len(sweeps), 4)
        for command in sweeps:
            plotted = [word for word in command if word.endswith('.pdf')]
            if not plotted or shutil.which('gnuplot'):
                self.run_there([*command[:2], '-r', '1', *command[2:]])
                self.assertTrue(all((self.folder / name).stat().st_size > 0 for name in plotted))


if __name__ == '__main__':
    programs.skip_untraceable(RECOUNT)
    unittest.main()
