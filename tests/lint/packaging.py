#!/usr/bin/env python3
"""packaging/ agrees with the project: packaging.py ROOT.

The Spack package is executed with directives that only record: its options exist, and each dependency of meson.build is
declared. The Dockerfile has known instructions, its targets of make exist, and the Debian packages are those of debian/control."""
import pathlib
import re
import sys
import types

# Names of dependencies in meson.build whose Spack package is called otherwise.
SPACK = {'nlohmann_json': 'nlohmann-json', 'CLI11': 'cli11', 'zlib': 'zlib-api', 'libdw': 'elfutils', 'pfm': 'libpfm4', 'iberty': 'binutils'}
PART_OF_LIBC = {'threads', 'dl'}
INSTRUCTIONS = {'FROM', 'RUN', 'WORKDIR', 'COPY', 'ENTRYPOINT', 'CMD'}


def recipe(path):
    """Its class, and the directives that it called: [(name, first argument)]."""
    calls = []
    module = types.ModuleType('spack.package')

    def directive(name):
        return lambda *words, **_: calls.append((name, words[0] if words else '')) or (lambda function: function)

    for name in ('license', 'version', 'variant', 'depends_on', 'conflicts', 'run_after', 'on_package_attributes'):
        setattr(module, name, directive(name))
    module.MesonPackage = object
    module.Executable = None
    sys.modules['spack'], sys.modules['spack.package'] = types.ModuleType('spack'), module
    scope = {}
    exec(compile(path.read_text(), str(path), 'exec'), scope)
    return scope['Recount'], calls


def check_spack(root, faults):
    package, calls = recipe(root / 'packaging/spack/packages/recount/package.py')
    here = package()
    here.spec = '+symbols'
    options = set(re.findall(r"^option\('(\w+)'", (root / 'meson_options.txt').read_text(), re.M)) | {'unity', 'unity_size'}
    given = dict(re.fullmatch(r'-D(\w+)=(\w+)', argument).groups() for argument in here.meson_args())
    faults += [f'package.py: meson has no option {name}' for name in given if name not in options]
    if (given['symbols'], given['native']) != ('true', 'false'):
        faults.append(f'package.py: the variants do not reach meson: {given}')
    declared = {re.split(r'[@+~: ]', what)[0] for name, what in calls if name == 'depends_on'}
    for file in (root / 'meson.build', root / 'src/count/symbol/meson.build'):
        for name in re.findall(r"(?:dependency|find_library)\('([\w-]+)'", file.read_text()):
            if name not in PART_OF_LIBC and SPACK.get(name, name) not in declared:
                faults.append(f'package.py does not depend on {SPACK.get(name, name)}')
    return len(declared)


def check_docker(root, faults):
    text = (root / 'packaging/Dockerfile').read_text().replace('\\\n', ' ')
    lines = [line for line in text.splitlines() if line and not line.startswith('#')]
    for line in lines:
        if line.split()[0] not in INSTRUCTIONS:
            faults.append(f'Dockerfile: {line}')
    targets = re.findall(r'^([\w-]+):', (root / 'Makefile').read_text(), re.M)
    faults += [f'Dockerfile: make {t}: no such target' for t in re.findall(r'\bmake ([a-z-]+)\b(?! ?\\)', ' '.join(l for l in lines if 'RUN make' in l)) if t not in targets]
    packages = re.findall(r'^Package: (\S+)', (root / 'debian/control').read_text(), re.M)
    faults += [f'Dockerfile: no such package: {p}' for p in re.findall(r'/(\w+)_\*\.deb', text) if p not in packages]
    if not any(line.startswith('RUN make deb') for line in lines):
        faults.append('Dockerfile: does not make the packages')


def main(root):
    faults = []
    dependencies = check_spack(root, faults)
    check_docker(root, faults)
    for fault in faults:
        print(fault)
    print(f'{dependencies} dependencies, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1])))
