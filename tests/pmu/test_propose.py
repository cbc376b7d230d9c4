#!/usr/bin/env python3
"""`recount propose --measure` from end to end on a simulated machine. Arguments: recount, man page, run.

Zen 4 has no rows in the table of PAPI 7.0. The example of recount-propose(1) is compared with what is printed here.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

RECOUNT, PAGE, *RUN = [os.path.abspath(word) if os.path.exists(word) else word for word in sys.argv[1:]]
EVENTS = "RETIRED_INSTRUCTIONS,RETIRED_BRANCH_INSTRUCTIONS,RETIRED_TAKEN_BRANCH_INSTRUCTIONS,LS_DISPATCH:STORE_DISPATCH"
# Rows of another Zen that the table may have: their events exist on Zen 4 as well.
TABLE = "CPU,amd64_fam19h_zen3\nPRESET,PAPI_TOT_INS,NOT_DERIVED,RETIRED_INSTRUCTIONS\nPRESET,PAPI_BR_TKN,NOT_DERIVED,RETIRED_TAKEN_BRANCH_INSTRUCTIONS\n"


def recount(folder, *words):
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run([*RUN, "zen4", RECOUNT, "propose", "--table", "t.csv", *words], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False, timeout=540)


class Propose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="recount-propose-")
        cls.folder = pathlib.Path(cls.place.name)
        (cls.folder / "t.csv").write_text(TABLE)
        cls.measured = recount(cls.folder, "--measure", "-q", "-r", "1", "-e", EVENTS, "-o", "counts.jsonl")
        cls.from_file = recount(cls.folder, "--from-results", "counts.jsonl")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_a_row_is_measured_and_checked(self):
        self.assertEqual(self.measured.returncode, 0, self.measured.stdout + self.measured.stderr)
        self.assertRegex(self.measured.stdout, r"# PAPI_TOT_INS: measured, and from amd64_fam19h_zen3; \d+ points, \d+ of them not 0; .*")
        self.assertRegex(self.measured.stdout, r"confidence: high\n#   recount check: agrees\nPRESET,PAPI_TOT_INS,NOT_DERIVED,RETIRED_INSTRUCTIONS\n")
        self.assertIn("\nPRESET,PAPI_BR_INS,NOT_DERIVED,RETIRED_BRANCH_INSTRUCTIONS\n", self.measured.stdout)

    def test_counts_that_contradict_a_relative_are_told(self):
        # Taken branches include unconditional ones, which PAPI_BR_TKN does not.
        self.assertRegex(self.measured.stdout, r"\n#.* PAPI_BR_TKN\b")
        self.assertNotRegex(self.measured.stdout, r"\nPRESET,PAPI_BR_TKN,NOT_DERIVED,RETIRED_TAKEN_BRANCH_INSTRUCTIONS\n")

    def test_what_bounds_do_not_decide_is_no_row(self):
        self.assertRegex(self.measured.stdout, r"# undecided: PRESET,PAPI_")
        self.assertNotRegex(self.measured.stdout, r"\nPRESET,PAPI_(FPU_IDL|LSU_IDL|STL_ICY),")

    def test_the_file_gives_the_same_rows_elsewhere(self):
        self.assertEqual(self.from_file.returncode, 0, self.from_file.stderr)
        self.assertIn("# recount check was not run: the counts are from a file\n", self.from_file.stdout)
        rows = set(re.findall(r"^PRESET.*", self.measured.stdout, re.M))
        self.assertLessEqual(rows, set(re.findall(r"^PRESET.*", self.from_file.stdout, re.M)))
        header = json.loads((self.folder / "counts.jsonl").read_text().splitlines()[0])
        self.assertIn("amd64_fam19h_zen4", json.dumps(header))

    def test_the_example_of_the_page_is_what_is_printed(self):
        page = pathlib.Path(PAGE).read_text().split("worked example", 1)[1]
        block = re.search(r"\.Bd -literal.*?\n(.*?)\.Ed", page, re.S).group(1)
        self.assertIn(block, self.from_file.stdout)

    def test_resume_runs_what_is_missing(self):
        lines = (self.folder / "counts.jsonl").read_text().splitlines(keepends=True)
        (self.folder / "part.jsonl").write_text("".join(lines[:-8]))
        answer = recount(self.folder, "--measure", "-q", "-r", "1", "-e", EVENTS, "-o", "part.jsonl", "--resume", "--export", "o.csv")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        metric = lambda text: {(o["kernel"], json.dumps(o["params"], sort_keys=True), o["witness"], o["metric"])
                               for o in map(json.loads, text.splitlines()) if "metric" in o}
        self.assertEqual(metric((self.folder / "part.jsonl").read_text()), metric("".join(lines)))


first = subprocess.run([*RUN, "zen4", "true"], capture_output=True, text=True, check=False)
if first.returncode == 77:
    print(first.stderr, end="")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
