#!/usr/bin/env python3
"""The program of recount-laboratory(1) counts with PAPI on an emulated machine what the model predicts, and recount laboratory finds there
the caches of its description.
Arguments: recount, the program of examples/mm1.c, the program of sandbox.c."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

RECOUNT, PROGRAM, SANDBOX = sys.argv[1:4]
N = 160
# Each matrix begins 16 bytes behind a page, as larger ones do and as those of recount's kernel.
ENVIRONMENT = dict(os.environ, MALLOC_MMAP_THRESHOLD_="16384", TMPDIR="/tmp")
# Misses of PAPI's own calls, and of the program around its product, at most.
AROUND = 400
PRODUCTS = {"straightforward": (["--variant", "ijk-mem"], 3, 1), "transposed": (["--variant", "transposed", "--transpose", "excluded"], 3, 1),
            "blocked": (["--variant", "blocked", "--block", "32"], 2, 1)}


def counted(product, *before):
    answer = subprocess.run([*before, RECOUNT, "emulate", "--exact", "-q", "skl", "--", PROGRAM, product, str(N)], env=ENVIRONMENT, capture_output=True,
                            text=True, check=False)
    if answer.returncode:
        raise AssertionError(f"status {answer.returncode}: {answer.stderr}")
    return {name: int(value) for name, value in re.findall(r"^(L1 misses|loads|stores|cycles) (\d+)$", answer.stdout, re.M)}


def predicted(words):
    """L1 misses by the model of a machine with the same caches."""
    answer = subprocess.run([RECOUNT, "sweep", "matmul", *words, "--element", "i16", "--n", str(N), "--witness", "model:i7-9700", "-q", "-o", "-"],
                            env=ENVIRONMENT, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    return next(row["value"] for row in rows if row.get("metric") == "PAPI_L1_DCM")


class Laboratory(unittest.TestCase):
    def test_misses_are_those_of_the_model(self):
        for product, (words, loads, stores) in PRODUCTS.items():
            with self.subTest(product=product):
                counts, model = counted(product), predicted(words)
                self.assertGreaterEqual(counts["L1 misses"], model)
                self.assertLess(counts["L1 misses"] - model, AROUND)
                for name, each in (("loads", loads), ("stores", stores)):
                    # Blocks also load an element of a for each of their rows.
                    self.assertAlmostEqual(counts[name] / (each * N ** 3), 1, delta=0.04, msg=name)

    def test_a_container_counts_the_same(self):
        alone, confined = counted("blocked"), counted("blocked", SANDBOX)
        self.assertLess(abs(confined.pop("L1 misses") - alone.pop("L1 misses")), AROUND)
        for name, value in alone.items():
            self.assertAlmostEqual(confined[name] / value, 1, delta=0.001, msg=name)

    def test_the_report_answers_with_the_caches_of_the_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = subprocess.run([RECOUNT, "emulate", "--exact", "-q", "skl", "--", RECOUNT, "laboratory", "-q", "-o", f"{folder}/lab",
                                     "--parts", "l1-misses,caches"], env=dict(ENVIRONMENT, COLUMNS="80"), capture_output=True, text=True, check=False)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            report = pathlib.Path(folder, "lab/report.md").read_text()
        # A Core i7-6700.
        for question, value in (("3.1.1 size of L1", "32 KiB"), ("3.1.1 line", "64 B"), ("3.1.1 ways", "8 ways"), ("3.1.2 size of L2", "256 KiB"),
                                ("3.1.2 line", "64 B"), ("3.1.2 ways", "4 ways"), ("against stated values", "6 of 6 agree, none")):
            self.assertRegex(answer.stdout, rf"(?m)^{re.escape(question)} +{value}")
        self.assertRegex(" ".join(answer.stdout.split()), r"misses are counted by papi and perf \(\d+ points twice, which differ by at most 0\.00\d\d per access")
        self.assertIn("times and cycles are those of the emulated machine", report)


first = subprocess.run([RECOUNT, "emulate", "--exact", "-q", "skl", "--", PROGRAM, "blocked", "1"], env=ENVIRONMENT, capture_output=True, text=True, check=False)
if first.returncode:
    print("SKIP:", first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
