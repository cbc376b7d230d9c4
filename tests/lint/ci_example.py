#!/usr/bin/env python3
"""The workflow of examples/ci does what it states: ci_example.py ROOT PROGRAM.

Runs its last step in a repository with a table, for a change that is correct and one that is not.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

SOUND = 'CPU,aaa\nPRESET,PAPI_LD_INS,DERIVED_ADD,A\n'                       # a known warning
ADDED = 'CPU,bbb\n' + SOUND
WRONG = SOUND + 'PRESET,PAPI_SR_INS,DERIVED_INFIX,N0-N1-N2,A,B,C\n'         # infix-order

# A libpfm4 without PMUs.
LIBPFM4 = '''#include <perfmon/pfmlib.h>
pfm_err_t pfm_initialize(void) { return PFM_SUCCESS; }
void pfm_terminate(void) {}
const char *pfm_strerror(int code) { (void)code; return ""; }
int pfm_get_version(void) { return 4 << 16; }
int pfm_get_event_next(int index) { (void)index; return -1; }
pfm_err_t pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *out) { (void)pmu; (void)out; return PFM_ERR_INVAL; }
pfm_err_t pfm_get_event_info(int index, pfm_os_t os, pfm_event_info_t *out) { (void)index; (void)os; (void)out; return PFM_ERR_INVAL; }
pfm_err_t pfm_get_event_attr_info(int index, int attr, pfm_os_t os, pfm_event_attr_info_t *out) { (void)index; (void)attr; (void)os; (void)out; return PFM_ERR_INVAL; }
pfm_err_t pfm_get_os_event_encoding(const char *name, int plm, pfm_os_t os, void *out) { (void)name; (void)plm; (void)os; (void)out; return PFM_ERR_NOTFOUND; }
'''


def step(workflow):
    return textwrap.dedent(workflow.rsplit('run: |\n', 1)[1])


def run(script, table, program):
    """Exit status and output of the step in a pull request that changes the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        env = {**os.environ, 'HOME': name, 'GITHUB_BASE_REF': 'main', 'PATH': f'{pathlib.Path(program).parent}:{os.environ["PATH"]}',
               'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@b', 'GIT_COMMITTER_NAME': 'a', 'GIT_COMMITTER_EMAIL': 'a@b'}
        sources = folder / 'base/src/libpfm4/lib'
        sources.mkdir(parents=True)
        (sources / 'Makefile').write_text('SRCS=pfmlib_stub.c\n')
        (sources / 'pfmlib_stub.c').write_text(LIBPFM4)
        (folder / 'base/src/papi_events.csv').write_text(SOUND)
        for command in (['init', '-q', '-b', 'main'], ['add', '.'], ['commit', '-q', '-m', 'base'], ['clone', '-q', '.', '../head']):
            subprocess.run(['git', '-C', folder / 'base', *command], check=True, env=env)
        (folder / 'head/src/papi_events.csv').write_text(table)
        script = script.replace('/tmp/', f'{name}/')
        done = subprocess.run(['bash', '-eo', 'pipefail', '-c', script], cwd=folder / 'head', env=env, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main(root, program):
    script = step((pathlib.Path(root) / 'examples/ci/preset-table.yml').read_text())
    faults = []
    for table, status, pattern in ((ADDED, 0, r'bbb: added with 1 preset, the rows of aaa'),
                                   (WRONG, 1, r'(?m)^::error file=src/papi_events\.csv,line=3::PAPI_SR_INS: PAPI computes .*\[infix-order\]$')):
        code, out = run(script, table, program)
        if code != status or not re.search(pattern, out):
            faults.append(f'status {code} instead of {status}, or no {pattern}:\n{out}')
        if 'line=2::' in out:
            faults.append(f'a known finding is reported:\n{out}')
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2]))
