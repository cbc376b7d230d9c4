#!/usr/bin/env python3
"""What a person sees of every figure: test_seen.py RECOUNT. Draws each figure from each data set, for a column and for a page.

The words and their places are read from the PDF by poppler's pdftotext, not from recount's layout: no word leaves the
page, and no word is printed on another. From the gnuplot script: curves of one panel differ in colour, a name has one
colour and marker in all figures of the results, panels are aligned and on one scale, every curve is named, and bands end
at the axes. self_test() plants each fault first.
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
# Slow to read, and with the same figures as another set: in one width.
ONE_WIDTH = {'caches-zen4': '7', 'modelled': '3.33', 'twelve': '3.33'}
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


class Panel:
    """What a script says of one panel: places, scale, curves (name, linetype, modelled and size of markers, name in the key, data), labels."""

    def __init__(self, text, names):
        number = r'(-?[\d.e+-]+)'
        self.left, self.right, self.bottom, self.top = (float(re.search(rf'set {side} at screen {number}', text)[1])
                                                        for side in ('lmargin', 'rmargin', 'bmargin', 'tmargin'))
        self.y = tuple(float(n) for n in re.search(rf'set yrange \[{number}:{number}\]', text).groups())
        title = re.search(r"set label '(.*)' at .* rotate by 90", text)
        self.y_title = title[1] if title else ''
        by = re.search(r"; by ([^']*)'", text) # a stride of 4 KiB is no size of 4 KiB
        self.by = by[1] if by else ''
        self.labels = {int(n) for n in re.findall(r'center front tc lt (\d+)', text)}
        self.curves, self.levels = [], []
        for block, style in re.findall(r'(\$panel\d+curve\d+) using 1:2 with (.*?)(?:, \\\n|\n)', text):
            line, size, key = (re.search(pattern, style) for pattern in (r'lt (\d+)', r'ps ([\d.]+)', r" title '(.*)'"))
            curve = (names[block], int(line[1]) % 100, size and (len(line[1]) > 2, size[1]), key and key[1], block)
            (self.levels if ' dt (' in style or line[1] == '41' else self.curves).append(curve)


def aligned(a, b):
    """Whether the plots share a column's sides or a row's, where they are in one."""
    near = lambda side: abs(getattr(a, side) - getattr(b, side)) < 2e-5
    column, row = (min(getattr(a, high), getattr(b, high)) > max(getattr(a, low), getattr(b, low))
                   for low, high in (('left', 'right'), ('bottom', 'top')))
    return (not column or (near('left') and near('right'))) and (not row or (near('bottom') and near('top')))


def faults_of_script(script, seen):
    """Sentences. `seen`: colours by name, of the figures before."""
    names = {block: name for name, block in re.findall(r'^# ?(.*)\n(\$panel\d+curve\d+) << e', script, re.M)}
    data = {block: [[float(n) for n in row.split()] for row in rows.splitlines()]
            for block, rows in re.findall(r'^(\$panel\d+curve\d+) << e\n(.*?)^e$', script, re.M | re.S)}
    drawing = script[script.index('set terminal'):]
    styled = {int(n) % 100 for n in re.findall(r'^set linetype (\d+)', script, re.M)}
    panels = [Panel(text, names) for text in drawing.split('unset label; unset arrow')[1:]]
    found, sizes = [], {}
    for i, panel in enumerate(panels):
        named = {}
        for name, line, size, key, block in panel.curves:
            if not name or size is None:
                continue
            if line not in styled:
                found.append(f'"{name}" has a linetype that the style lacks')
            shared = named.setdefault(line, name) != name and len(panel.curves) <= 12 # more are a scale of shades
            if shared or seen.setdefault((panel.by, name), line) != line:
                found.append(f'"{name}" has the colour of "{named[line]}"' if shared else f'"{name}" has two colours')
            if sizes.setdefault((name, size[0]), size) != size: # modelled ones are larger
                found.append(f'"{name}" has two sizes of markers')
            if 1 < len(panel.curves) <= 12 and line not in panel.labels and not any(c[3] and c[1] == line for c in panel.curves):
                found.append(f'"{name}" has no name in panel {i + 1}')
        found += [f'a band leaves panel {i + 1}' for _, _, _, _, block in panel.curves for row in data[block]
                  if len(row) > 3 and row[1] == row[1] and not panel.y[0] <= row[2] <= row[3] <= panel.y[1] and row[2] < row[3]]
        for j, other in enumerate(panels[:i]):
            if not aligned(panel, other):
                found.append(f'panels {j + 1} and {i + 1} are not aligned')
            if panel.y_title == other.y_title and panel.y != other.y and 'twice the same' not in script:
                found.append(f'panels {j + 1} and {i + 1} have two scales of one title')
    return found


def words_of(pdf):
    text = subprocess.run(['pdftotext', '-bbox', pdf, '-'], capture_output=True, text=True, check=True).stdout
    page = tuple(float(n) for n in PAGE.search(text).groups())
    return page, [(tuple(float(n) for n in m[:4]), html.unescape(m[4])) for m in WORD.findall(text)]


def drawn_in_widths(recount, results, figure, folder):
    """Faults of one figure in each width; empty: these results have none of that name."""
    all_widths = {}
    for width in [ONE_WIDTH[results.stem]] if results.stem in ONE_WIDTH else WIDTHS:
        if (found := drawn(recount, results, figure, width, folder)) is None:
            return {}
        all_widths[width] = found
    return all_widths


def drawn(recount, results, figure, width, folder):
    """Faults of the words of one figure; None: these results have none of that name."""
    pdf = folder / f'{results.stem}.{figure}.{width}.pdf'
    ran = subprocess.run([recount, 'plot', results, '--figure', figure, '--width', width, '-o', pdf, '--script', pdf.with_suffix('.gp')],
                         capture_output=True, text=True)
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
    for command in (['matmul', '--published', 'i7-9700.csv', *model, 'published.jsonl'],
                    ['matmul', '--published', 'field.csv', '--sample', 'always', '--draws', '1', *model, 'field.jsonl']):
        subprocess.run([recount, *command], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    here = pathlib.Path(__file__).resolve().parent
    for file in here.glob('*.jsonl.xz'):
        (folder / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    return [*sorted(folder.glob('*.jsonl')), *sorted((here.parent / 'data').glob('*/*.jsonl'))]


def self_test():
    page, word = (100, 50), ((10, 10, 30, 18), 'one')
    assert not faults(page, [word, ((10, 18, 30, 26), 'below')])
    assert faults(page, [word, ((28, 12, 40, 20), 'two')]) == ['"two" is printed on "one"']
    assert faults(page, [((90, 10, 110, 18), 'wide')]) == ['"wide" leaves the page']


    assert not faults_of_script(SCRIPT, {}), faults_of_script(SCRIPT, {})
    for old, new, fault in (("lt 22 lw 1.5 ps 0.300 title '8 KiB'", "lt 21 lw 1.5 ps 0.300 title '8 KiB'", 'has the colour of'),
                            ('lt 121 lw', 'lt 122 lw', 'has two colours'), ('set linetype 22\n', '', 'style lacks'),
                            ("lt 121 lw 1.5 ps 0.300", "lt 21 lw 1.5 ps 0.450", 'two sizes of markers'),
                            ("title '8 KiB'", 'notitle', 'has no name'), ('rmargin at screen 0.90000', 'rmargin at screen 0.89000', 'not aligned'),
                            ('yrange [0:3]\n# second', 'yrange [0:4]\n# second', 'two scales'), ('8 1 0.5 3', '8 1 0.5 3.1', 'a band leaves')):
        assert SCRIPT.count(old) == 1, old
        assert any(fault in sentence for sentence in faults_of_script(SCRIPT.replace(old, new), {})), fault


SCRIPT = """set linetype 21
set linetype 22
# Data: x (bytes where it is a size), y, ends of the band
# 4 KiB
$panel1curve1 << e
8 1 0.5 3
16 2 2 2
e
# 8 KiB
$panel1curve2 << e
8 1 1 1
e
# 4 KiB
$panel2curve1 << e
8 nan nan nan
e
set terminal pdfcairo
unset label; unset arrow
set lmargin at screen 0.10000; set rmargin at screen 0.90000
set bmargin at screen 0.60000; set tmargin at screen 0.95000
set xrange [6:20]; set yrange [0:3]
set label 'time per access (ns)' at screen 0.02, screen 0.7 center rotate by 90 tc lt 44
plot $panel1curve1 using 1:2 with linespoints lt 21 lw 1.5 ps 0.300 title '4 KiB', \\
     $panel1curve2 using 1:2 with linespoints lt 22 lw 1.5 ps 0.300 title '8 KiB'
unset label; unset arrow
set lmargin at screen 0.10000; set rmargin at screen 0.9
set bmargin at screen 0.10000; set tmargin at screen 0.45000
set xrange [6:20]; set yrange [0:3]
# second
set label 'time per access (ns)' at screen 0.02, screen 0.2 center rotate by 90 tc lt 44
plot $panel2curve1 using 1:2 with linespoints lt 121 lw 1.5 ps 0.300 title '4 KiB'
"""


def main():
    self_test()
    recount = pathlib.Path(sys.argv[1]).resolve()
    for program in ('gnuplot', 'pdftotext'):
        if not shutil.which(program):
            print(f'SKIP: {program} is not installed', file=sys.stderr)
            return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(os.environ.get('KEEP', name))
        tasks = [(file, figure) for file in data_sets(recount, folder) for figure in figures(recount)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda task: drawn_in_widths(recount, *task, folder), tasks))
        seen = {}
        for (file, figure), widths in zip(tasks, results):
            for width, found in widths.items():
                if (script := folder / f'{file.stem}.{figure}.{width}.gp').exists():
                    found += faults_of_script(script.read_text(), seen.setdefault(file, {}))
    bad = False
    for (file, figure), widths in zip(tasks, results):
        for width, found in widths.items():
            if found:
                bad = True
                print(f'{figure} of {file.name}, {width} in wide: {"; ".join(found[:5])}')
    undrawn = {figure for _, figure in tasks} - {task[1] for task, widths in zip(tasks, results) if widths}
    print(f'{sum(map(len, results))} figures; drawn from no data set: {", ".join(sorted(undrawn)) or "none"}')
    return 1 if bad or undrawn else 0


if __name__ == '__main__':
    sys.exit(main())
