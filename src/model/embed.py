#!/usr/bin/env python3
"""Writes shipped.cpp: the machine descriptions as text inside the program. embed.py OUT FILE.json..."""
import pathlib
import sys

out, *files = sys.argv[1:]
rows = []
for path in sorted(map(pathlib.Path, files), key=lambda p: p.stem):
    rows.append(f'    {{"{path.stem}", R"JSON({path.read_text()})JSON"}},\n')
pathlib.Path(out).write_text(
    '#include "model/machine.hpp"\n\nnamespace recount::model {\n\n'
    'std::span<const Shipped> shipped_machines() {\n  static constexpr Shipped all[] = {\n'
    + "".join(rows) + "  };\n  return all;\n}\n\n} // namespace recount::model\n")
