#!/usr/bin/env python3
"""PAPI's high-level interface and its command line on an emulated machine. Arguments: recount, the program of high_level.c."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RECOUNT, PROGRAM = sys.argv[1:3]
FEW = 50000
# Instructions of PAPI's own calls in the region, at most.
CALLS = 20000


def emulate(*command, **variables):
    return subprocess.run([RECOUNT, "emulate", "--exact", "-q", "skl", "--", *command], capture_output=True, text=True, check=False, timeout=250,
                          env=dict(os.environ, **variables))


def region(turns):
    with tempfile.TemporaryDirectory() as folder:
        answer = emulate(PROGRAM, str(turns), PAPI_EVENTS="PAPI_TOT_INS,PAPI_DP_OPS", PAPI_OUTPUT_DIRECTORY=folder)
        if answer.returncode:
            raise AssertionError(f"status {answer.returncode}: {answer.stderr}")
        report = next(pathlib.Path(folder).rglob("*.json")).read_text()
    values = json.dumps(json.loads(report))
    return {name: int(re.search(rf'"{name}": "?(\d+)', values)[1]) for name in ("PAPI_TOT_INS", "PAPI_DP_OPS")}


class Papi(unittest.TestCase):
    def test_a_region_counts_what_it_executes(self):
        few, many = region(FEW), region(2 * FEW)
        for name, each in (("PAPI_TOT_INS", 4), ("PAPI_DP_OPS", 2)):
            self.assertEqual(many[name] - few[name], each * FEW, name)
            self.assertLess(few[name] - each * FEW, CALLS, name)

    def test_perf_and_papi_count_the_same_execution(self):
        answer = emulate(RECOUNT, "stat", "--witness", "perf,papi", "--json", "-e", "PAPI_TOT_INS", "--", "true")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        perf, papi = json.loads(answer.stdout)["metrics"]
        self.assertEqual((papi["witness"], papi["difference"]["same_runs"]), ("papi", True))
        self.assertEqual(perf["mean"], papi["mean"])
        self.assertGreater(perf["mean"], 10000)

    @unittest.skipUnless(shutil.which("papi_event_chooser"), "papi_event_chooser is not installed")
    def test_presets_fit_where_papi_adds_them(self):
        tables = pathlib.Path(__file__).parent.parent / "pmu/tables"
        sets = (("DP_OPS", "TOT_CYC"), ("TOT_INS",), ("TOT_INS", "TOT_CYC", "L1_DCM"), ("BR_MSP", "BR_TKN", "BR_INS"), ("L2_TCM", "L2_DCM", "L3_TCM"))
        compared = 0
        for machine, table in (("skl", None), ("snb", None), ("icx", None), ("skl", "skl"), ("spr", "spr"), ("zen4", "zen4"), ("adl", "adl")):
            variables = dict(os.environ, **({"PAPI_CSV_EVENT_FILE": str(tables / f"{table}.csv")} if table else {}))
            for names in sets:
                chosen = ["PAPI_" + name for name in names]
                papi, own = (subprocess.run([RECOUNT, "emulate", "--fast", "-q", machine, "--", *command], capture_output=True, text=True,
                                            check=False, timeout=100, env=variables) for command in
                             (("papi_event_chooser", "PRESET", *chosen), (RECOUNT, "presets", "--fits", ",".join(chosen))))
                added = re.findall(r"^(PAPI_\w+)\s+0x", papi.stdout, re.M)
                self.assertEqual(re.findall(r"^(PAPI_\w+) +\d+$", own.stdout, re.M), added, (machine, table, names, own.stdout + own.stderr))
                self.assertEqual(own.returncode == 0, "Total events reported" in papi.stdout, (machine, table, names, own.stderr))
                compared += len(added)
        self.assertGreater(compared, 300)

    @unittest.skipUnless(shutil.which("papi_command_line"), "papi_command_line is not installed")
    def test_the_command_line_counts(self):
        answer = emulate("papi_command_line", "PAPI_TOT_INS", "PAPI_BR_CN")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"PAPI_TOT_INS\s*:\s*[1-9]")


first = emulate(PROGRAM, "1", PAPI_OUTPUT_DIRECTORY=tempfile.gettempdir() + "/recount-papi-first")
shutil.rmtree(tempfile.gettempdir() + "/recount-papi-first", ignore_errors=True)
if first.returncode:
    print("SKIP:", first.stdout, first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
