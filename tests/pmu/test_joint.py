#!/usr/bin/env python3
"""Joint relations in `recount check`, and errata beside the values of commands. Arguments: recount, run, options of run."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# The commands run in a folder of their own.
RECOUNT, *RUN = [os.path.abspath(word) if os.path.exists(word) else word for word in sys.argv[1:]]
DEAD = "change BR_INST_RETIRED.CONDITIONAL = 0 * it; change INST_RETIRED.ANY_P = 2 * it"
LOOP = ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"]


def simulated(folder, *words, options=(), changes=DEAD, machine="skl", **settings):
    environment = {**os.environ, "COLUMNS": "200", "RECOUNT_PMU_CHANGES": "", **settings}
    changes = changes if machine == "skl" else ""
    command = [*RUN, *options, machine, "env", f"RECOUNT_PMU_CHANGES={changes}", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)


class Joint(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="recount-joint-")
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def test_events_that_contradict_one_another_are_named(self):
        def joint(changes):
            answer = simulated(self.folder, RECOUNT, "check", "L2_ICM", "L2_ICH", "L2_ICR", "L2_TCA", "L2_TCR", "L2_DCW", "--repeat", "1", "-q",
                               "--json", changes=changes, PAPI_CSV_EVENT_FILE=str(HERE / "tables/skl.csv"))
            answer = json.loads(answer.stdout)
            return answer["joint"], {one["preset"]: one["verdict"] for one in answer["verdicts"]}
        right, _ = joint("")
        self.assertEqual(right, {"broken": [], "suspects": [], "together": []})
        wrong, verdicts = joint("change L2_RQSTS.CODE_RD_HIT = 1.3 * it")
        self.assertEqual([one["relation"] for one in wrong["broken"]], ["L2_RQSTS:ALL_CODE_RD = L2_RQSTS:CODE_RD_HIT + L2_RQSTS:CODE_RD_MISS"])
        # All code reads are part of another sum, which holds.
        self.assertEqual(wrong["suspects"], ["L2_RQSTS:CODE_RD_HIT", "L2_RQSTS:CODE_RD_MISS"])
        self.assertIn(verdicts["PAPI_L2_ICH"], ("agrees", "plausible"))  # its bounds do not tell

    def test_errata_of_the_cpu_are_named(self):
        checked = simulated(self.folder, RECOUNT, "check", "PAPI_BR_CN", "--repeat", "1", "-q")
        self.assertRegex(checked.stdout.replace("\n        ", " "), r"    \S*BR_INST_RETIRED:CONDITIONAL: erratum SKL091: ")
        note = simulated(self.folder, RECOUNT, "stat", "-e", "PAPI_BR_CN", "--", *LOOP).stderr
        self.assertIn("errata of this CPU concern these events: ", note)
        self.assertRegex(note.replace("\n    ", " "), r"SKL091 \(\S*BR_INST_RETIRED:CONDITIONAL\)")
        self.assertNotIn("errata", simulated(self.folder, RECOUNT, "stat", "-e", "L1D:REPLACEMENT", "--", "true").stderr)
        doctor = simulated(self.folder, RECOUNT, "doctor", "-v").stdout
        self.assertRegex(doctor, r"errata: events 0x2e\.41, 0x2e\.4f: erratum SKL057: ")
        other = simulated(self.folder, RECOUNT, "doctor", "-v", machine="snb").stdout
        self.assertIn("erratum BJ122: with SMT, counts leak", other)
        self.assertNotIn("SKL057", other)

first = subprocess.run([*RUN, "skl", "true"], capture_output=True, text=True, check=False)
if first.returncode == 77:
    print(first.stderr, end="")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
