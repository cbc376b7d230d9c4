"""Results for figures, at the extremes: whole published grids, one point, two, equal values, six decades.

Names of data sets and functions that write them; all values are made up by simple formulas.
"""
import json
import random

KI = 1024
RUN = {
    'type': 'run', 'schema': 'recount-results/2', 'run': 'R', 'started': '2026-11-22T05:33:48Z', 'host': 'vm',
    'cpu': 'Intel(R) Core(TM) i7-9700 CPU @ 3.00GHz', 'cpus': 8,
    'caches': [{'level': 'L1d', 'size': 32 * KI, 'line': 64, 'ways': 8}, {'level': 'L2', 'size': 256 * KI, 'line': 64, 'ways': 4},
               {'level': 'L3', 'size': 12288 * KI, 'line': 64, 'ways': 12}],
    'versions': {'recount': '0.1.0', 'compiler': 'g++ 12.2.0', 'kernel_flags': '-O2', 'vectorised_flags': '-O3 -march=native (AVX2)'},
    'command': ['recount'], 'seed': 1, 'plan': {'kernel': 'matmul', 'study': 'report'},
}


def observation(kernel, params, repetition, witness, metric, value, accesses=None):
    line = {'type': 'observation', 'run': 'R', 'kernel': kernel, 'params': params, 'repetition': repetition, 'witness': witness,
            'metric': metric, 'value': value}
    if accesses:
        line['accesses'] = accesses
    return line


def products(large, blocks, element='f64'):
    """A whole grid of matrix products: three loops, C++ at two levels of optimisation, Java, OpenBLAS, and peaks."""
    small = list(range(600, 3001, 400))
    rows = [('ijk', n, 128, 0.9) for n in small] + [('ikj', n, 128, 0.25) for n in small + large]
    rows += [('blocked', n, b, 0.22 - 0.0001 * b) for n in large for b in blocks]
    noise = random.Random(1)
    for variant, n, block, ns in rows:
        point = {'block': block, 'element': element, 'n': n, 'offset': 16, 'pagesize': 'small', 'transpose': 'included', 'variant': variant}
        for kernel, factor in (('matmul', 1), ('matmul-vectorised', 0.45), ('external', 1.15)):
            if kernel == 'external' and n > 3000:
                continue
            params = {**point, 'language': 'Java'} if kernel == 'external' else point
            for repetition in range(5):
                seconds = n**3 * ns * 1e-9 * factor * noise.uniform(0.97, 1.05)
                yield observation(kernel, params, repetition, 'clock', 'seconds', seconds, 4 * n**3)
        for metric, plain, blocked in (('PAPI_L1_DCM', 1.1, 0.125), ('PAPI_L2_DCM', 1.2, 0.13)):
            misses = n**3 * (plain if variant == 'ijk' else blocked)
            for repetition in range(5):
                yield observation('matmul', point, repetition, 'papi', metric, int(misses * noise.uniform(0.97, 1.05)), 4 * n**3)
            yield observation('matmul', point, 0, 'model', metric, int(misses), 4 * n**3)
        yield observation('matmul', point, 0, 'model', 'PAPI_DP_OPS', 2 * n**3)
    for n in small:
        yield observation('dgemm', {'n': n}, 0, 'clock', 'seconds', n**3 * 0.04e-9)
    for width, rate in (('scalar', 6e9), ('128 bits', 12e9), ('256 bits', 48e9)):
        yield observation('peak', {'turns': 1000000, 'width': width}, 0, 'clock', 'seconds', 0.01)
        yield observation('peak', {'turns': 1000000, 'width': width}, 0, 'model', 'PAPI_DP_OPS', int(rate * 0.01))
    for size, rate in ((16 * KI, 150e9), (128 * KI, 70e9), (4096 * KI, 30e9), (262144 * KI, 14e9)):
        yield observation('bandwidth', {'passes': 10, 'size': size}, 0, 'clock', 'seconds', size * 10 / rate, size * 10 // 8)


def sweep(sizes, strides, ns):
    """Times and misses of a chase; `ns` of an access by size and stride."""
    for size in sizes:
        for stride in strides:
            params = {'offset': 0, 'pagesize': 'small', 'passes': 2, 'rounds': 0, 'seed': 1, 'size': size, 'stride': stride}
            accesses = 10 * size
            for repetition in range(5):
                seconds = ns(size, stride) * 1e-9 * accesses * (1 + 0.01 * repetition)
                yield observation('chase', params, repetition, 'clock', 'seconds', seconds, accesses)
                for metric, most in (('PAPI_L1_DCM', 32 * KI), ('PAPI_L2_DCM', 256 * KI)):
                    misses = accesses if size > most else 0
                    yield observation('chase', params, repetition, 'model', metric, misses, accesses)
                    yield observation('chase', params, repetition, 'papi', metric, misses + accesses // 100, accesses)


def nodes(names):
    """The same sweep on several machines, the third of which takes half as long again."""
    noise = random.Random(2)
    for i, name in enumerate(names):
        yield {**RUN, 'run': name, 'host': name}
        slower = 1.5 if i == 2 else 1
        for line in sweep(doubled(4 * KI, 6), [64], lambda size, stride: slower * (1.2 if size <= 32 * KI else 4) * noise.uniform(0.98, 1.03)):
            yield {**line, 'run': name, 'params': {**line['params'], 'rounds': 10}}


def program(sizes, names):
    """The user's program by size, name and threads: times, and counts of two witnesses over three decades."""
    for i, name in enumerate(names):
        for n in sizes:
            for threads in (1, 4):
                params = {'impl': name, 'n': n, 'threads': threads}
                for repetition in range(3):
                    scale = n**3 / (i + 1) * (1 + 0.02 * repetition)
                    yield observation('program', params, repetition, 'clock', 'seconds', scale * 1e-9 / threads)
                    for witness, metric in (('perf', 'PAPI_L1_DCM'), ('papi', 'PAPI_L1_DCM'), ('perf', 'ipc')):
                        yield observation('program', params, repetition, witness, metric, int(scale / 8) if metric != 'ipc' else 1 + i / 2)


def doubled(first, number):
    return [first << i for i in range(number)]


SETS = {
    'grid': lambda: products(list(range(4096, 10241, 2048)), [128, 256, 512]),
    'long-grid': lambda: products(list(range(1000, 10001, 1000)), [16, 32, 64, 128, 256, 512, 1024]),
    'one': lambda: sweep([4 * KI], [64], lambda size, stride: 3),
    'two': lambda: sweep([4 * KI, 8 * KI], [64], lambda size, stride: size / KI),
    'twelve': lambda: sweep(doubled(4 * KI, 12), doubled(8, 12), lambda size, stride: 1 + size / 65536 * stride / 64),
    'equal': lambda: sweep(doubled(4 * KI, 8), [8, 64, 512, 4096], lambda size, stride: 5),
    'decades': lambda: sweep(doubled(4 * KI, 14), [8, 64, 512], lambda size, stride: stride * 10**((size.bit_length() - 13) / 2 - 3)),
    'steps': lambda: sweep([s * KI for s in (4, 8, 16, 24, 32, 48, 64, 128, 192, 256, 384, 512, 1024, 4096, 8192, 16384, 65536)], [64],
                           lambda size, stride: 1.2 if size <= 32 * KI else 4 if size <= 256 * KI else 14 if size <= 12288 * KI else 90),
    'program': lambda: program(list(range(200, 2001, 300)), ['simple', 'line', 'blocked-by-64']),
    'nodes': lambda: nodes([f'compute-{i:03}.cluster.example.org' for i in range(1, 5)]),
}


def write(name, path):
    lines = list(SETS[name]())
    if lines[0]['type'] != 'run':
        lines.insert(0, RUN)
    path.write_text(''.join(json.dumps(line, separators=(',', ':')) + '\n' for line in lines))
