#!/usr/bin/env python3
"""What a person sees of every figure: test_seen.py RECOUNT. Draws each figure from each data set, for a column and for a page.

The words and their places are read from the PDF by poppler's pdftotext, not from recount's layout: no word leaves the
page, and no word is printed on another. --self-test plants faults.
"""
import html
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import data

WIDTHS = ('3.33', '7')
PAGE = re.compile(r'<page width="([\d.]+)" height="([\d.]+)"')
WORD = re.compile(r'<word xMin="(-?[\d.]+)" yMin="(-?[\d.]+)" xMax="(-?[\d.]+)" yMax="(-?[\d.]+)">(.*?)</word>')


def ink(box, text):
    """A word's box is as high as the font; capitals and digits fill its middle."""
    left, top, right, bottom = box
    upright = right - left >= 0.6 * (bottom - top) or len(text) == 1
    x, y = (0, 0.2 * (bottom - top)) if upright else (0.2 * (right - left), 0)
    return left + x, top + y, right - x, bottom - y


def faults(page, words):
    """Sentences about words outside of the page and words on one another, in points."""
    width, height = page
    found = []
    seen = [(ink(box, text), text) for box, text in words]
    for i, (a, text) in enumerate(seen):
        if a[0] < -0.5 or a[1] < -0.5 or a[2] > width + 0.5 or a[3] > height + 0.5:
            found.append(f'"{text}" leaves the page')
        for b, other in seen[:i]:
            if min(a[2], b[2]) - max(a[0], b[0]) > 0.4 and min(a[3], b[3]) - max(a[1], b[1]) > 0.4:
                found.append(f'"{text}" is printed on "{other}"')
    return found


def words_of(pdf):
    text = subprocess.run(['pdftotext', '-bbox', pdf, '-'], capture_output=True, text=True, check=True).stdout
    page = tuple(float(n) for n in PAGE.search(text).groups())
    return page, [(tuple(float(n) for n in m[:4]), html.unescape(m[4])) for m in WORD.findall(text)]


def drawn(recount, results, figure, width, folder):
    """Faults of one figure; None: these results have none of that name."""
    pdf = folder / f'{results.stem}.{figure}.{width}.pdf'
    ran = subprocess.run([recount, 'plot', results, '--figure', figure, '--width', width, '-o', pdf], capture_output=True, text=True)
    if ran.returncode == 2 and not pdf.exists():
        return None
    if ran.returncode:
        return [f'exit {ran.returncode}: {ran.stderr.strip()}']
    return faults(*words_of(pdf))


def figures(recount):
    listed = subprocess.run([recount, 'plot', '--list'], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line and not line.startswith(' ')]


PUBLISHED = """variant,n,block,seconds_cpp,l1_dcm,l2_dcm
simple,60,,0.0002,9000,3000
simple,100,,0.0018,140000,29000
simple,180,,0.0290,900000,80000
line,60,,0.0001,9000,5000
line,100,,0.0005,130000,26000
line,180,,0.0036,740000,90000
"""


def data_sets(recount, folder):
    """Files: made up, modelled by recount, and recorded."""
    for name in data.SETS:
        data.write(name, folder / f'{name}.jsonl')
    (folder / 'i7-9700.csv').write_text('# Source: made up for an Intel i7-9700\n' + PUBLISHED)
    field = (pathlib.Path(__file__).resolve().parents[1] / 'data/field/field.csv').read_text().splitlines(keepends=True)
    (folder / 'field.csv').write_text(''.join(line for line in field if re.match('#|group,|(g01|g02|g35|g36),.*,simple,(600|1000),', line)))
    model = ['--witness', 'model:i7-9700', '-q', '-o']
    for command in (['caches', '--grid', *model, 'modelled.jsonl'], ['matmul', '--published', 'i7-9700.csv', *model, 'published.jsonl'],
                    ['matmul', '--published', 'field.csv', '--sample', 'always', '--draws', '1', *model, 'field.jsonl']):
        subprocess.run([recount, *command], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    here = pathlib.Path(__file__).resolve().parent
    for file in here.glob('*.jsonl.xz'):
        (folder / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    return [*sorted(folder.glob('*.jsonl')), *sorted((here.parent / 'data/results').glob('*.jsonl'))]


def self_test():
    page, word = (100, 50), ((10, 10, 30, 18), 'one')
    assert not faults(page, [word, ((10, 18, 30, 26), 'below')])
    assert faults(page, [word, ((28, 12, 40, 20), 'two')]) == ['"two" is printed on "one"']
    assert faults(page, [((90, 10, 110, 18), 'wide')]) == ['"wide" leaves the page']


def main():
    self_test()
    recount = pathlib.Path(sys.argv[1]).resolve()
    for program in ('gnuplot', 'pdftotext'):
        if not shutil.which(program):
            print(f'SKIP: {program} is not installed', file=sys.stderr)
            return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(os.environ.get('KEEP', name))
        tasks = [(file, figure, width) for file in data_sets(recount, folder) for figure in figures(recount) for width in WIDTHS]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda task: drawn(recount, *task, folder), tasks))
    bad = [(task, found) for task, found in zip(tasks, results) if found]
    for (file, figure, width), found in bad:
        print(f'{figure} of {file.name}, {width} in wide: {"; ".join(found[:5])}')
    undrawn = {figure for _, figure, _ in tasks} - {task[1] for task, found in zip(tasks, results) if found is not None}
    print(f'{sum(found is not None for found in results)} figures; drawn from no data set: {", ".join(sorted(undrawn)) or "none"}')
    return 1 if bad or undrawn else 0


if __name__ == '__main__':
    sys.exit(main())
