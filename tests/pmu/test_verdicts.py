#!/usr/bin/env python3
"""Verdicts of `recount check` beside the values of other commands. Arguments: recount, run, options of run."""
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
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "200", "RECOUNT_PMU_CHANGES": "", **settings}
    changes = changes if machine == "skl" else ""
    command = [*RUN, *options, machine, "env", f"RECOUNT_PMU_CHANGES={changes}", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)


class Verdicts(unittest.TestCase):
    """One check of few presets; then other commands with and without its verdicts."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="recount-verdicts-")
        cls.folder = pathlib.Path(cls.place.name)
        cls.checked = simulated(cls.folder, RECOUNT, "check", "PAPI_BR_CN", "PAPI_TOT_INS", "PAPI_BR_INS", "--repeat", "1", "-q")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def stat(self, *words, options=(), **settings):
        answer = simulated(self.folder, RECOUNT, "stat", "-e", "PAPI_BR_CN,PAPI_TOT_INS,PAPI_BR_INS", *words, "--", *LOOP, options=options, **settings)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer.stderr

    def test_events_that_contradict_one_another_are_named(self):
        def joint(changes):
            answer = simulated(self.folder, RECOUNT, "check", "L2_ICM", "L2_ICH", "L2_ICR", "L2_TCA", "L2_TCR", "L2_DCW", "--repeat", "1", "-q",
                               "--no-verdicts", "--json", changes=changes, PAPI_CSV_EVENT_FILE=str(HERE / "tables/skl.csv"))
            answer = json.loads(answer.stdout)
            return answer["joint"], {one["preset"]: one["verdict"] for one in answer["verdicts"]}
        right, _ = joint("")
        self.assertEqual(right, {"broken": [], "suspects": [], "together": []})
        wrong, verdicts = joint("change L2_RQSTS.CODE_RD_HIT = 1.3 * it")
        self.assertEqual([one["relation"] for one in wrong["broken"]], ["L2_RQSTS:ALL_CODE_RD = L2_RQSTS:CODE_RD_HIT + L2_RQSTS:CODE_RD_MISS"])
        # All code reads are part of another sum, which holds.
        self.assertEqual(wrong["suspects"], ["L2_RQSTS:CODE_RD_HIT", "L2_RQSTS:CODE_RD_MISS"])
        self.assertIn(verdicts["PAPI_L2_ICH"], ("agrees", "plausible"))  # its bounds do not tell

    def test_check_keeps_what_it_found(self):
        self.assertEqual(self.checked.returncode, 1, self.checked.stdout + self.checked.stderr)
        store = json.loads((self.folder / "state/recount/verdicts.json").read_text())
        machine = store["machines"][0]
        self.assertEqual(machine["cpu"], "GenuineIntel-6-94-3")
        verdicts = {one["name"]: one["verdict"] for one in machine["verdicts"]}
        self.assertEqual(verdicts, {"PAPI_BR_CN": "dead", "PAPI_TOT_INS": "meaning differs", "PAPI_BR_INS": "agrees"})

    def test_stat_marks_values(self):
        text = self.stat()
        self.assertRegex(text, r"PAPI_BR_CN +0 +\(dead on this machine\)")
        self.assertRegex(text, r"PAPI_TOT_INS +[\d,]+ +\(differs: 2 times the expected count")
        self.assertRegex(text, r"PAPI_BR_INS +[\d,]+\n")

    def test_an_event_of_the_same_encoding_is_marked(self):
        answer = simulated(self.folder, RECOUNT, "stat", "-e", "BR_INST_RETIRED:CONDITIONAL,BR_INST_RETIRED:ALL_BRANCHES", "--", *LOOP)
        self.assertRegex(answer.stderr, r"BR_INST_RETIRED:CONDITIONAL +0 +\(dead on this machine\)")
        self.assertRegex(answer.stderr, r"BR_INST_RETIRED:ALL_BRANCHES +[\d,]+\n")

    def test_marks_are_left_out(self):
        self.assertNotIn("(d", self.stat("--no-verdicts"))

    def test_another_microcode_has_no_marks(self):
        self.assertNotIn("(d", self.stat(options=["--microcode", "0xabc"]))
        doctor = simulated(self.folder, RECOUNT, "doctor", options=["--microcode", "0xabc"])
        self.assertRegex(doctor.stdout, r"stale: checked [-\d]{10} with another microcode \(")
        self.assertIn("then, 0xabc now)", doctor.stdout)

    def test_doctor_summarises(self):
        doctor = simulated(self.folder, RECOUNT, "doctor")
        self.assertRegex(doctor.stdout, "1 of 3 presets agrees, 1 dead, 1 meaning differs, checked [-\\d]{10} with this kernel")

    def test_a_report_of_another_program_is_marked_and_none_after_a_change(self):
        for microcode, marked in (([], True), (["--microcode", "0xabc"], False)):
            self.stat("-o", f"r{marked}.jsonl", options=microcode)
            answer = simulated(self.folder, RECOUNT, "report", f"r{marked}.jsonl", "-o", f"made{marked}", "--format", "markdown")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            report = (self.folder / f"made{marked}" / "report.md").read_text()
            if marked:
                self.assertRegex(report, r"PAPI\\?_BR\\?_CN.*\| 0 \| dead on this machine")
                self.assertNotRegex(report, r"(?m)^\| PAPI\\?_BR\\?_INS \|")
            else:
                self.assertNotIn("dead on this machine", report)
        answer = simulated(self.folder, RECOUNT, "report", "rTrue.jsonl", "-o", "none", "--no-verdicts", "--format", "markdown")
        self.assertEqual(answer.returncode, 0)
        self.assertNotIn("dead on this machine", (self.folder / "none" / "report.md").read_text())

    def test_errata_of_the_cpu_are_named(self):
        self.assertRegex(self.checked.stdout.replace("\n        ", " "), r"    \S*BR_INST_RETIRED:CONDITIONAL: erratum SKL091: ")
        note = self.stat()
        self.assertIn("errata of this CPU concern these events: ", note)
        self.assertRegex(note.replace("\n    ", " "), r"SKL091 \(\S*BR_INST_RETIRED:CONDITIONAL, ")
        self.assertNotIn("errata", simulated(self.folder, RECOUNT, "stat", "-e", "L1D:REPLACEMENT", "--", "true").stderr)
        doctor = simulated(self.folder, RECOUNT, "doctor").stdout
        self.assertRegex(doctor, r"errata: events 0x2e\.41, 0x2e\.4f: erratum SKL057: ")
        other = simulated(self.folder, RECOUNT, "doctor", machine="snb").stdout
        self.assertIn("erratum BJ122: with SMT, counts leak", other)
        self.assertNotIn("SKL057", other)

    def test_other_commands(self):
        presets = simulated(self.folder, RECOUNT, "presets").stdout
        self.assertRegex(presets, r"PAPI_BR_CN .*\(dead on this machine\)")
        self.assertNotIn("dead on", simulated(self.folder, RECOUNT, "presets", "--no-verdicts").stdout)
        swept = simulated(self.folder, RECOUNT, "sweep", "branch", "--metric", "PAPI_BR_CN", "--witness", "perf", "--repeat", "1", "-q")
        self.assertRegex(swept.stdout, r"PAPI_BR_CN.*\(dead on this machine\)", swept.stderr)
        watched = simulated(self.folder, RECOUNT, "watch", "--plain", "-e", "PAPI_BR_CN", "-I", "50", "--", *LOOP)
        self.assertRegex(watched.stderr, r"PAPI_BR_CN: dead on this machine")
        profiled = simulated(self.folder, RECOUNT, "profile", "-e", "BR_INST_RETIRED:CONDITIONAL:period=100000", "--", *LOOP)
        self.assertRegex(profiled.stderr, r"BR_INST_RETIRED:CONDITIONAL:.*\(dead on this machine\)")

    def test_json_has_the_marks(self):
        answer = simulated(self.folder, RECOUNT, "stat", "--json", "-e", "PAPI_BR_CN,PAPI_BR_INS", "--", *LOOP)
        marks = {one["name"]: one.get("verdict") for one in json.loads(answer.stdout)["metrics"]}
        self.assertEqual(marks, {"PAPI_BR_CN": "dead on this machine", "PAPI_BR_INS": None})

    def test_a_broken_file_is_one_warning(self):
        broken = self.folder / "broken/recount"
        broken.mkdir(parents=True, exist_ok=True)
        (broken / "verdicts.json").write_text('{"schema":\x1b[2J')
        text = self.stat(XDG_STATE_HOME=str(self.folder / "broken"))
        self.assertEqual(text.count("warning"), 1, text)
        self.assertIn("is damaged: it is not a JSON object", ' '.join(text.split()))
        self.assertRegex(text, r"PAPI_BR_CN +0\n")

    def test_a_failed_write_keeps_the_result(self):
        (self.folder / "file").write_text("")
        answer = simulated(self.folder, RECOUNT, "check", "PAPI_BR_INS", "--repeat", "1", "-q", XDG_STATE_HOME=str(self.folder / "file"))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("agrees   PAPI_BR_INS", answer.stdout)
        self.assertIn("warning: the verdicts are not kept", answer.stderr)


first = subprocess.run([*RUN, "skl", "true"], capture_output=True, text=True, check=False)
if first.returncode == 77:
    print(first.stderr, end="")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
