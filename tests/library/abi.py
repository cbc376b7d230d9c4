#!/usr/bin/env python3
"""Compares what librecount.so and librecount-papi.so export, and the layout of the types of include/recount, with abi.txt.

abi.py LIBRARY PAPI-LIBRARY COMPILER [--write]. A difference is a change of the ABI: programs that were linked before
need another soversion (src/count/library/meson.build). Exit 77 without abidw (package abigail-tools)."""
import pathlib, re, shutil, subprocess, sys, tempfile
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / 'abi.txt'
ABBREVIATIONS = [('std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >', 'std::string'),
         ('std::basic_string_view<char, std::char_traits<char> >', 'std::string_view'), (', 18446744073709551615ul', ''), ('[abi:cxx11]', '')]


def symbols(library):
    out = subprocess.run(['nm', '-D', '-C', '--defined-only', library], check=True, text=True, capture_output=True).stdout
    for long, short in ABBREVIATIONS:
        out = out.replace(long, short)
    names = {re.sub(r', std::allocator<[^<>]*> ?>', '>', line.split(' ', 2)[2].split('@@')[0]) for line in out.splitlines()}
    return sorted(name for name in names if not re.fullmatch(r'RECOUNT_(PAPI_)?\d+', name))


def type_names(root):
    """Short names of types by their id in the output of abidw."""
    named, names = {e.get('id'): e for e in root.iter() if e.get('id')}, {}

    def name(key):
        if key in names:
            return names[key]
        names[key] = '...'  # of itself
        e = named.get(key)
        if e is None:
            text = '?'
        elif e.tag in ('pointer-type-def', 'reference-type-def'):
            text = name(e.get('type-id')) + ('*' if e.tag.startswith('pointer') else '&')
        elif e.tag == 'qualified-type-def':
            text = name(e.get('type-id')) + (' const' if e.get('const') else '')
        elif e.tag == 'typedef-decl':
            text = name(e.get('type-id'))
        elif e.tag == 'array-type-def':
            text = name(e.get('type-id')) + '[]'
        else:
            text = (e.get('name') or e.tag).split('<')[0]
            if 'long' in text.split() or 'short' in text.split():  # "unsigned long int", "long unsigned"
                text = ' '.join(sorted((set(text.split()) - {'int'}), reverse=True))
        names[key] = text
        return text
    return name


def layouts(root):
    name, found = type_names(root), {}

    def visit(element, scope):
        for e in element:
            full = f'{scope}::{e.get("name")}' if scope else e.get('name') or ''
            if e.tag == 'namespace-decl':
                visit(e, full)
            elif e.tag in ('class-decl', 'union-decl') and full.startswith('recount::') and e.get('size-in-bits'):
                lines = [f'{full}: {int(e.get("size-in-bits")) // 8} bytes']
                for member in e.findall('data-member'):
                    if (var := member.find('var-decl')) is not None and not member.get('static'):
                        lines.append(f'  {int(member.get("layout-offset-in-bits") or 0) // 8} {var.get("name")}: {name(var.get("type-id"))}')
                found[full] = lines
                for member in e.findall('member-type'):
                    visit(member, full)
            elif e.tag == 'enum-decl' and full.startswith('recount::'):
                found[full] = [f'{full}: ' + ', '.join(f'{v.get("name")} = {v.get("value")}' for v in e.findall('enumerator'))]

    for unit in root.iter('abi-instr'):
        visit(unit, '')
    return [line for key in sorted(found) for line in found[key]]


def main():
    library, papi, compiler = sys.argv[1], sys.argv[2], sys.argv[3].split()
    if shutil.which('abidw') is None:
        print('abidw is not installed (package abigail-tools)')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        types = pathlib.Path(folder) / 'types.so'
        subprocess.run([*compiler, '-std=c++20', '-g', '-shared', '-fPIC', '-I', HERE.parent.parent / 'include', HERE / 'types.cpp', '-o', types], check=True)
        xml = subprocess.run(['abidw', types], check=True, capture_output=True).stdout
    text = '\n'.join(['symbols:', *symbols(library), '', 'symbols of librecount-papi:', *symbols(papi), '', 'types:', *layouts(ElementTree.fromstring(xml))]) + '\n'
    if '--write' in sys.argv:
        LIST.write_text(text)
        return 0
    old, new = LIST.read_text().splitlines(), text.splitlines()
    gone, more = [line for line in old if line not in new], [line for line in new if line not in old]
    for line in gone:
        print('-', line)
    for line in more:
        print('+', line)
    if gone or more:
        print('The ABI has changed. If that is meant: another soversion if a line is gone, then abi.py LIBRARY PAPI-LIBRARY COMPILER --write')
    elif old != new:
        print('The order of lines has changed')
    return int(old != new)


sys.exit(main())
