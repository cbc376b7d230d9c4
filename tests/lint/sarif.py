#!/usr/bin/env python3
"""The output of lint --sarif is SARIF 2.1.0: sarif.py PROGRAM [SCHEMA].

Checks the requirements of the standard (OASIS, sections 3.13 to 3.49) that concern what lint writes. With SCHEMA,
the JSON schema of the standard, and python3-jsonschema, the log is also validated against it.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TABLE = '''CPU,aaa
PRESET,PAPI_LD_INS,DERIVED_ADD,A
PRESET,PAPI_SR_INS,DERIVED_INFIX,N0-N1-N2,A,B,C
PRESET,PAPI_L1_DCM,NOT_DERIVED,M
PRESET,PAPI_L1_ICM,NOT_DERIVED,M
PRESETS,PAPI_L1_TCM,NOT_DERIVED,M
'''


def faults_of(log):
    """What the standard requires and the log lacks."""
    def demand(true, what):
        if not true:
            yield what

    yield from demand(log.get('version') == '2.1.0', 'version must be 2.1.0 (3.13.2)')
    yield from demand(isinstance(log.get('runs'), list) and log['runs'], 'runs must be an array (3.13.4)')
    for run in log.get('runs', []):
        driver = run.get('tool', {}).get('driver', {})
        rules = driver.get('rules', [])
        yield from demand(driver.get('name'), 'tool.driver.name is required (3.19.8)')
        yield from demand(run.get('columnKind') in ('utf16CodeUnits', 'unicodeCodePoints'), 'columnKind (3.14.17)')
        yield from demand(len({r['id'] for r in rules}) == len(rules), 'rule ids must be unique (3.19.23)')
        for rule in rules:
            yield from demand(rule['defaultConfiguration']['level'] in ('none', 'note', 'warning', 'error'), 'level (3.50.3)')
            yield from demand(rule['shortDescription']['text'].endswith('.'), 'shortDescription is a sentence (3.49.9)')
        yield from demand(run.get('results'), 'the table has findings')
        yield from demand({r['id'] for r in rules} == {r['ruleId'] for r in run['results']}, 'only the rules that results name')
        for result in run.get('results', []):
            yield from demand(result['message'].get('text'), 'message.text is required (3.11.8)')
            named = [*result['properties']['presets'], *result['properties']['cpus']]
            yield from demand(all(name in result['message']['text'] for name in named), 'the text names presets and CPUs')
            yield from demand(result['level'] in ('none', 'note', 'warning', 'error'), 'level (3.27.10)')
            yield from demand(rules[result['ruleIndex']]['id'] == result['ruleId'], 'ruleIndex denotes ruleId (3.27.6)')
            yield from demand(len(result['locations']) == 1, 'one location per result (3.27.12)')
            for location in result['locations'] + result.get('relatedLocations', []):
                physical = location['physicalLocation']
                uri = physical['artifactLocation']['uri']
                yield from demand(re.fullmatch(r'(file://)?[A-Za-z0-9._~/%-]+', uri), f'uri {uri} (3.4.3, RFC 3986)')
                yield from demand(physical['region']['startLine'] >= 1, 'startLine (3.30.5)')
                yield from demand(physical['region']['startColumn'] >= 1, 'startColumn (3.30.6)')
            for key, value in result['partialFingerprints'].items():
                yield from demand(re.fullmatch(r'\w+/v\d+', key) and isinstance(value, str), 'partialFingerprints (3.27.17)')
            yield from demand(result.get('baselineState', 'new') in ('new', 'unchanged', 'updated', 'absent'), 'baselineState (3.27.24)')


def main(program, schema=None):
    with tempfile.TemporaryDirectory() as name:
        table = pathlib.Path(name) / 'a table.csv'
        table.write_text(TABLE)
        log = json.loads(subprocess.run([program, 'lint', '--sarif', table], capture_output=True, text=True, check=False).stdout)
    faults = list(faults_of(log))
    if schema:
        import jsonschema
        faults += [error.message for error in jsonschema.Draft7Validator(json.loads(pathlib.Path(schema).read_text())).iter_errors(log)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f'{len(log["runs"][0]["results"])} results, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
