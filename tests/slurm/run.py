#!/usr/bin/env python3
"""make test-slurm: recount under a real Slurm of four nodes on the loopback address. run.py RECOUNT [DIR]

Installs slurmctld, slurmd, slurm-client, munge and parallel, starts them with a configuration, a key and ports of their own in DIR
(a temporary directory), and runs the job scripts of examples/slurm as they are. Ends with "N passed, N failed"; exit 77
with a reason where Slurm cannot run.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples' / 'slurm'
NODES = ['n1', 'n2', 'n3', 'n4']
PACKAGES = ['slurmctld', 'slurmd', 'slurm-client', 'munge', 'parallel']
PATIENCE = 600  # seconds; the machine may be busy


def skip(reason):
    print(f'0 passed, 0 failed, 1 skipped: {reason}')
    sys.exit(77)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(('127.0.0.1', 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """munged, slurmctld and four slurmd, each a child of this process."""

    def __init__(self, folder, recount):
        self.folder, self.daemons, self.started = folder, {}, []
        bin_folder = folder / 'bin'
        bin_folder.mkdir()
        (bin_folder / 'recount').symlink_to(recount)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(('SLURM', 'PMI', 'OMPI'))}
        self.environment.update(PATH=f'{bin_folder}:{os.environ["PATH"]}:/usr/sbin:/sbin', SLURM_CONF=str(folder / 'slurm.conf'))
        self.environment.pop('PAPI_CSV_EVENT_FILE', None)
        self.configure()

    def configure(self):
        f, host = self.folder, socket.gethostname().split('.')[0]
        control, *ports = free_ports(1 + len(NODES))
        for name in ('spool', 'save', 'log'):
            (f / name).mkdir()
        lines = ['ClusterName=recount', f'SlurmctldHost={host}(127.0.0.1)', f'SlurmctldPort={control}', 'SlurmUser=root', 'SlurmdUser=root',
                 'AuthType=auth/munge', f'AuthInfo=socket={f}/munge.sock', 'CredType=cred/munge', 'ProctrackType=proctrack/linuxproc',
                 'TaskPlugin=task/none', 'SwitchType=switch/none', 'SlurmdParameters=config_overrides', 'ReturnToService=2', 'MpiDefault=none',
                 'SelectType=select/linear', 'SlurmctldTimeout=30', 'SlurmdTimeout=30', 'KillWait=2', f'StateSaveLocation={f}/save',
                 f'SlurmdSpoolDir={f}/spool/%n', f'SlurmctldPidFile={f}/slurmctld.pid', f'SlurmdPidFile={f}/slurmd-%n.pid',
                 f'SlurmctldLogFile={f}/log/slurmctld', f'SlurmdLogFile={f}/log/%n', 'JobAcctGatherType=jobacct_gather/none']
        for node, port in zip(NODES, ports):
            (f / 'spool' / node).mkdir()
            lines.append(f'NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN')
        lines.append(f'PartitionName=all Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP')
        (f / 'slurm.conf').write_text('\n'.join(lines) + '\n')

    def start(self, name, *command):
        log = open(self.folder / 'log' / f'{name}.out', 'a')
        self.daemons[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment,
                                              cwd=self.folder)

    def start_node(self, node):
        self.start(node, 'slurmd', '-D', '-N', node, '-f', str(self.folder / 'slurm.conf'))

    def up(self):
        f = self.folder
        subprocess.run(['mungekey', '-c', '-k', f / 'munge.key'], check=True, env=self.environment)
        self.start('munged', 'munged', '-F', '--force', '--key-file', f'{f}/munge.key', '--socket', f'{f}/munge.sock', '--pid-file',
                   f'{f}/munged.pid', '--log-file', f'{f}/log/munged', '--seed-file', f'{f}/munge.seed')
        self.wait('munged', lambda: (f / 'munge.sock').exists(), 30)
        self.start('slurmctld', 'slurmctld', '-D', '-f', str(f / 'slurm.conf'))
        for node in NODES:
            self.start_node(node)
        self.wait('four idle nodes', lambda: self.idle() == len(NODES), 120)

    def idle(self):
        done = self.run('sinfo', '-h', '-N', '-o', '%N %t')
        return sum(line.endswith(' idle') for line in done.stdout.splitlines())

    def wait(self, what, condition, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.3)
        raise RuntimeError(f'{what}: not within {seconds} s; logs are in {self.folder}/log')

    def run(self, *command, **more):
        return subprocess.run(command, capture_output=True, text=True, env=self.environment, cwd=self.folder, timeout=PATIENCE, **more)

    def submit(self, script, *arguments):
        done = self.run('sbatch', '--parsable', str(EXAMPLES / script), *arguments)
        if done.returncode != 0:
            raise RuntimeError(f'sbatch {script}: {done.stderr}')
        return done.stdout.strip()

    def finished(self, job):
        return not self.run('squeue', '-h', '-j', job, '-t', 'PENDING,RUNNING').stdout.strip()

    def batch(self, script, *arguments):
        job = self.submit(script, *arguments)
        self.wait(f'end of {script}', lambda: self.finished(job))
        return job

    def kill_node(self, node):
        """The daemon of a node and the tasks that run there; nothing else."""
        self.daemons.pop(node).kill()
        marks = (f'SLURMD_NODENAME={node}'.encode(), f'SLURM_CONF={self.folder}/slurm.conf'.encode())
        for entry in pathlib.Path('/proc').glob('[0-9]*'):
            try:
                variables = (entry / 'environ').read_bytes().split(b'\0')
                if all(mark in variables for mark in marks) and 'recount' in (entry / 'cmdline').read_text():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue

    def down(self):
        self.run('scancel', '-u', 'root')
        for daemon in reversed(list(self.daemons.values())):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()


def lines_of(paths):
    for path in sorted(paths):
        for line in path.read_text().splitlines():
            if line.endswith('}'):
                yield json.loads(line)


def points(lines):
    """Each value by what it is of: kernel, point, repetition, witness, metric."""
    found = {}
    for line in lines:
        if line['type'] != 'observation':
            continue
        key = (line['kernel'], json.dumps(line['params'], sort_keys=True), line['repetition'], line['witness'], line['metric'])
        if key in found:
            raise RuntimeError(f'{key} is there twice')
        found[key] = line['value']
    return found


def contents(report):
    """The lines of a report but the names of its files, and when and how it was measured."""
    own = re.compile(r'^Written by|^\| \d{4}-\d\d-\d\dT|recount sweep stride')
    return [line for line in report.splitlines() if not own.search(line)]


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def that(self, condition, what, why=''):
        self.passed, self.failed = self.passed + bool(condition), self.failed + (not condition)
        print(('ok      ' if condition else 'FAILED  ') + what + (f': {why}' if why and not condition else ''), flush=True)


def sweep_command():
    """The command of the job script without srun, its shard and its file."""
    text = (EXAMPLES / 'sweep.sbatch').read_text().replace('\\\n', ' ')
    words = next(line for line in text.splitlines() if line.startswith('srun')).split(' recount ', 1)[1]
    return 'recount ' + words.split(' --shard')[0]


def check_shards(cluster, checks):
    folder = cluster.folder
    begin = time.monotonic()
    done = cluster.run('sh', '-c', sweep_command() + ' -q -o one.jsonl')
    alone = time.monotonic() - begin
    one = points(lines_of([folder / 'one.jsonl']))
    checks.that(done.returncode == 0 and len(one) == 1000, 'one machine: 1000 points', f'{len(one)} points, {done.stderr}')

    begin = time.monotonic()
    job = cluster.submit('sweep.sbatch')
    shards = lambda: list(folder.glob('sweep-*.jsonl'))
    cluster.wait('a part of the shard of n3', lambda: (folder / 'sweep-2.jsonl').exists()
                 and (folder / 'sweep-2.jsonl').read_bytes().count(b'\n') > 20)
    cluster.kill_node('n3')
    cluster.wait('end of the job', lambda: cluster.finished(job))
    part = points(lines_of([folder / 'sweep-2.jsonl']))
    checks.that(20 <= len(part) < 250, f'the killed node has {len(part)} of 250 points')
    done = cluster.run('sh', '-c', 'cat sweep-*.jsonl > joined.jsonl && recount report joined.jsonl -o incomplete --format markdown')
    report = (folder / 'incomplete' / 'report.md').read_text() if (folder / 'incomplete' / 'report.md').exists() else done.stderr
    checks.that(f'Incomplete: {750 + len(part)} of 1000 runs' in report, 'the report of the joined files says what is missing', report[:2000])

    cluster.start_node('n3')
    cluster.run('scontrol', 'update', 'NodeName=n3', 'State=RESUME')
    cluster.wait('four idle nodes', lambda: cluster.idle() == len(NODES))
    again = cluster.batch('sweep.sbatch')
    took = time.monotonic() - begin
    merged = points(lines_of(shards()))
    checks.that(merged == one, 'resumed shards equal one machine, point for point',
                f'{len(merged)} points, {sum(merged.get(k) != v for k, v in one.items())} differ')
    runs = [line for line in lines_of(shards()) if line['type'] == 'run']
    checks.that(sorted({(r['node'], r['task']) for r in runs}) == [(n, str(i)) for i, n in enumerate(NODES)],
                'run lines hold node and task', str(runs)[:500])
    checks.that({r['job'] for r in runs} == {job, again} and all(r['step'] == '0' and r['tasks'] == '4' and r['host'] for r in runs),
                'run lines hold host, job, step and tasks')
    begin = time.monotonic()
    cluster.run('sh', '-c', 'cat sweep-*.jsonl > joined.jsonl')
    size = (folder / 'joined.jsonl').stat().st_size
    reports = []
    for name in ('one', 'joined'):
        cluster.run('recount', 'report', f'{name}.jsonl', '-o', f'report-{name}', '--format', 'markdown')
        reports.append(contents((folder / f'report-{name}' / 'report.md').read_text()))
    checks.that(reports[0] == reports[1] and len(reports[0]) > 1000, 'the merged report equals that of one machine',
                '\n'.join(sorted(set(reports[0]) ^ set(reports[1])))[:2000])
    print(f'        one machine {alone:.1f} s; four shards with a dead node and a second job {took:.1f} s; '
          f'{size} bytes, {size / len(one):.0f} per point; cat {time.monotonic() - begin:.3f} s', flush=True)


def check_commands(cluster, checks):
    folder = cluster.folder
    done = cluster.run('srun', '-N4', 'recount', 'caches', '--witness', 'clock', '--max-size', '8M', '-q', '-o', 'caches-{node}.jsonl')
    there = sorted(p.name for p in folder.glob('caches-*.jsonl'))
    checks.that(done.returncode in (0, 3) and there == [f'caches-{n}.jsonl' for n in NODES], 'srun -N4 recount caches', done.stderr + str(there))
    cluster.batch('nodes.sbatch', 'perf::PAGE-FAULTS')
    there = sorted(p.name for p in folder.glob('check-*.jsonl'))
    checks.that(there == [f'check-{n}-{i}.jsonl' for i, n in enumerate(NODES)], 'nodes.sbatch: four files of check', str(there))
    done = cluster.run('sh', '-c', 'recount compare check-*.jsonl chase-*.jsonl --json')
    compared = json.loads(done.stdout) if done.stdout.startswith('{') else {}
    checks.that(compared.get('nodes') == NODES and len(compared['quantities']) > 3, 'compare has four nodes', done.stderr)
    done = cluster.run('sh', '-c', 'recount report chase-*.jsonl check-*.jsonl -o nodes --format markdown')
    checks.that(done.returncode == 0, 'report of four nodes', done.stderr)
    job = cluster.batch('array.sbatch')
    done = cluster.run('sh', str(EXAMPLES / 'parallel.sh'))
    array = points(lines_of(folder.glob(f'array-{job}-*.jsonl')))
    shards = sorted(p.name for p in folder.glob('parallel-*.jsonl'))
    checks.that(shards == [f'parallel-{i}.jsonl' for i in range(4)] and points(lines_of(folder.glob('parallel-*.jsonl'))) == array,
                'parallel.sh: four shards, the values of the job array', done.stderr + str(shards))
    checks.that(len(array) == 8 and len(list(folder.glob('array-*.jsonl'))) == 8, 'array.sbatch: eight elements', str(len(array)))


def check_outlier(cluster, checks):
    """One node reads a preset table whose preset counts every page fault twice."""
    folder = cluster.folder
    cpu = re.search(r'"cpu": "([^"]*)"', cluster.run('recount', 'presets', '--json').stdout)
    right = f'CPU,{cpu[1] if cpu else "unknown"}\nPRESET,PAPI_TLB_DM,NOT_DERIVED,perf::PAGE-FAULTS\n'
    (folder / 'right.csv').write_text(right)
    (folder / 'wrong.csv').write_text(right.replace('NOT_DERIVED,perf::PAGE-FAULTS', 'DERIVED_ADD,perf::PAGE-FAULTS,perf::MINOR-FAULTS'))
    script = ('table=right; [ "$SLURMD_NODENAME" = n2 ] && table=wrong; PAPI_CSV_EVENT_FILE=$table.csv exec recount sweep faults '
              '--repeat 3 --witness perf,papi --metric PAPI_TLB_DM,perf::PAGE-FAULTS -q -o "table-{node}.jsonl"')
    done = cluster.run('srun', '-N4', 'sh', '-c', script)
    counted = [line for line in lines_of(folder.glob('table-*.jsonl'))
               if line['type'] == 'observation' and line['metric'] == 'PAPI_TLB_DM' and line['value'] is not None]
    if not counted:
        print(f'skipped a wrong table on one node: no private preset counts here {done.stderr[:300]}', flush=True)
        return
    done = cluster.run('sh', '-c', 'recount compare table-*.jsonl')
    print('        ' + '\n        '.join(done.stdout.splitlines()[:12]), flush=True)
    outliers = json.loads(cluster.run('sh', '-c', 'recount compare table-*.jsonl --json').stdout)['outliers']
    named = {(o['node'], o['in']) for o in outliers}
    checks.that(done.returncode == 1 and {o['node'] for o in outliers} == {'n2'}, 'compare names n2 and no other node', str(named))
    checks.that(('n2', 'preset_table') in named, 'compare names the table of n2', str(named))
    checks.that(any('PAPI_TLB_DM' in what and '2 times' in o['text'] for o in outliers for what in [o['in']]),
                'compare names the preset that counts twice', str(outliers))


def main(recount, folder):
    if os.geteuid() != 0:
        skip('Slurm needs root here')
    if any(not shutil.which(p, path=os.environ['PATH'] + ':/usr/sbin') for p in ('slurmctld', 'slurmd', 'srun', 'munged', 'parallel')):
        if subprocess.run(['sh', str(ROOT / 'scripts/deps'), *PACKAGES]).returncode != 0:
            skip(f'{" ".join(PACKAGES)} cannot be installed')
    cluster, checks = Cluster(folder, recount), Checks()
    try:
        try:
            cluster.up()
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            skip(f'Slurm does not start: {error}')
        for check in (check_commands, check_outlier, check_shards):
            check(cluster, checks)
    finally:
        cluster.down()
    print(f'{checks.passed} passed, {checks.failed} failed')
    return 1 if checks.failed else 0


if __name__ == '__main__':
    program = pathlib.Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        place = pathlib.Path(sys.argv[2]).resolve()
        place.mkdir()
        sys.exit(main(program, place))
    with tempfile.TemporaryDirectory(prefix='recount-slurm-') as temporary:
        sys.exit(main(program, pathlib.Path(temporary)))
