#!/usr/bin/env python3
"""The machines of recount emulate, and files that say what differs from another machine. Arguments: recount, the program of counted.c."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

RECOUNT, COUNTED = sys.argv[1:3]
MACHINES = pathlib.Path(RECOUNT).resolve().parent / "model/emulate/machines"
ENVIRONMENT = dict(os.environ, COLUMNS="400")
FEW = 100000


def recount(*words):
    return subprocess.run([RECOUNT, "emulate", *map(str, words)], capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=250)


def events(machine):
    """Name -> code and formula."""
    rows = [line.split(maxsplit=2) for line in recount("--describe", machine).stdout.splitlines()[1:] if "  " in line]
    return {row[0]: (row[1], " ".join(row[2].split())) for row in rows if len(row) == 3 and row[1].startswith("0x")}


class Shipped(unittest.TestCase):
    def test_each_machine_is_described_with_its_source(self):
        names = [path.stem for path in MACHINES.glob("*.pmu")]
        listed = recount("--list").stdout
        for name in names:
            with self.subTest(machine=name):
                self.assertIn("\n" + name, listed)
                if name == "host":
                    continue
                text = recount("--describe", name).stdout
                self.assertGreater(len(events(name)), 40)
                self.assertRegex(text, r"(?m)^Source: \S+")
                self.assertRegex(text, r"(?m)^Caches and TLBs: L1d \d+ KiB, \d+-way")

    def test_all_machines_count_the_same_instructions(self):
        counts = {path.stem: recount("--exact", "-q", path.stem, "--", COUNTED, "0xc0", FEW).stdout for path in MACHINES.glob("*.pmu")
                  if path.stem in ("skl", "icx", "zen5")}
        self.assertEqual(len(set(counts.values())), 1, counts)
        self.assertGreater(int(counts["icx"]), 6 * FEW)

    def test_programs_decode_vendor_model_and_caches_from_cpuid(self):
        def cpuid(machine, leaf, part=0):
            return [int(word) for word in recount("--exact", "-q", machine, "--", COUNTED, "cpuid", f"{leaf:x}", f"{part:x}").stdout.split()]

        def model(signature):  # SDM volume 2, CPUID, "Version Information"
            family, base = signature >> 8 & 15, signature >> 4 & 15
            return family + (signature >> 20 & 255 if family == 15 else 0), base + (signature >> 16 & 15) * 16

        for machine, vendor, known in (("skl", b"GenuineIntel", (6, 94)), ("zen4", b"AuthenticAMD", (25, 17))):
            _, b, c, d = cpuid(machine, 0)
            self.assertEqual(b"".join(word.to_bytes(4, "little") for word in (b, d, c)), vendor)
            self.assertEqual(model(cpuid(machine, 1)[0]), known)
        sizes = []
        for part in range(5):  # deterministic cache parameters: (ways + 1) (partitions + 1) (line + 1) (sets + 1)
            a, b, c, _ = cpuid("skl", 4, part)
            if a & 31:
                sizes.append((a >> 5 & 7, a & 31, ((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * (c + 1)))
        self.assertEqual(sizes, [(1, 1, 32 << 10), (1, 2, 32 << 10), (2, 3, 256 << 10), (3, 3, 8 << 20)])
        # APM volume 3, appendix E: KiB of L1 in bits 31-24, of L2 in 31-16, of L3 in units of 512 KiB in 31-18.
        _, _, data, code = cpuid("zen4", 0x80000005)
        _, _, second, third = cpuid("zen4", 0x80000006)
        self.assertEqual((data >> 24, code >> 24, second >> 16, (third >> 18) * 512), (32, 32, 1024, 32 << 10))

    def test_generations_differ_where_their_manuals_do(self):
        old, new = events("zen4"), events("zen5")
        self.assertEqual((old["PMCx041.All"][0], new["PMCx041.All"][0]), ("0x41.0x7f", "0x41.0x0f"))
        self.assertNotIn("PMCx060.ChangeToX", new)
        self.assertEqual(old["PMCx0C2"], new["PMCx0C2"])
        self.assertEqual((events("spr")["DTLB_LOAD_MISSES.WALK_COMPLETED"][0], events("icx")["DTLB_LOAD_MISSES.WALK_COMPLETED"][0]),
                         ("0x12.0x0e", "0x08.0x0e"))


class Like(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(MACHINES / "skl.pmu", self.folder / "skl.pmu")

    def machine(self, *statements, name="mine"):
        file = self.folder / f"{name}.pmu"
        file.write_text("\n".join(statements) + "\n")
        return file

    def refused(self, *statements):
        answer = recount("--describe", self.machine(*statements))
        self.assertEqual(answer.returncode, 125, answer.stdout)
        return " ".join(answer.stderr.split())

    def test_what_follows_takes_the_place_of_the_others(self):
        file = self.machine("like skl", "machine mine", "cache L1d 8192 2 64", "tlb data 16 4", "event 0xc0 = 3 * instructions # TRIPLE: thrice",
                            "without BR_INST_RETIRED.CONDITIONAL")
        mine, other = events(file), events("skl")
        self.assertEqual(mine["TRIPLE"], ("0xc0.0x00", "3 * instructions thrice"))
        self.assertEqual(set(other) - set(mine), {"BR_INST_RETIRED.CONDITIONAL", next(name for name in other if other[name][0] == "0xc0.0x00")})
        text = recount("--describe", file).stdout
        self.assertEqual(text.count("L1d "), 1)
        self.assertIn("L1d 8 KiB, 2-way", text)
        self.assertIn("data TLB 16 entries, 4-way", text)
        each = [int(recount("--exact", "-q", machine, "--", COUNTED, "0xc0", FEW).stdout) for machine in (file, "skl")]
        self.assertEqual(each[0], 3 * each[1])

    def test_others_follow_from_what_is_defined_again(self):
        # Of a turn: 2 additions and multiplications, so that 100000 turns have this many more cycles.
        file = self.machine("like skl", "machine mine", "let fp_chain = 1000 * fp_any_any_any")
        slow, usual = (int(recount("--exact", "-q", machine, "--", COUNTED, "0x3c", FEW).stdout) for machine in (file, "skl"))
        self.assertGreater(slow, usual + 1900 * FEW)

    def test_mistakes_are_refused(self):
        self.assertIn("not the first statement", self.refused("like skl", "like skl"))
        self.assertIn("not the first statement", self.refused("cache L1d 8192 2 64", "like skl"))
        self.assertIn("cannot be read", self.refused("like nothing"))
        self.assertIn("no name of a file", self.refused("like ../skl"))
        self.assertIn("no event", self.refused("like skl", "without NOTHING"))
        self.assertIn("no cache has 0 ways", self.refused("like skl", "cache L1d 8192 0 64"))
        self.assertIn("no cache has 8 ways", self.refused("like skl", "cache L1d 64 8 64"))
        self.assertIn('"general": a word is missing', self.refused("like skl", "general"))
        self.assertIn("must be a number from 0 to 64", self.refused("like skl", "general 99999999999"))
        self.assertIn('"-5" is no number', self.refused("like skl", "tlb data -5 4"))
        self.assertIn("follows from what is defined after it", self.refused("like skl", "let uops = cycles"))
        self.machine("like mine", name="other")
        self.assertIn("not the first statement", self.refused("like other"))


class Options(unittest.TestCase):
    def test_names_that_nothing_has_are_refused(self):
        for words, said in ((("--set", "prefech=1"), 'no parameter "prefech"'), (("--dead-class", "breakpoints"), 'no class "breakpoints"'),
                            (("--inject", "opn:any:EBUSY"), 'no call "opn"'), (("--inject", "read:NOTHING:EBUSY"), 'no event "NOTHING"'),
                            (("--inject", "read:breakpoint:EBUSY"), 'no event "breakpoint"'), (("--tick", "0"), "less than 1"), (("--mux-ms", "0.5"), "less than 1")):
            with self.subTest(words=words):
                answer = recount("-q", *words, "skl", "--", "true")
                self.assertEqual(answer.returncode, 125, answer.stderr)
                self.assertIn(said, answer.stderr)
        self.assertEqual(recount("-q", "--fast", "--inject", "open:page-faults:EBUSY", "--dead-class", "breakpoint", "skl", "--", "true").returncode, 0)
        # A device of the machine that this one does not have.
        self.assertEqual(recount("-q", "--fast", "--dead-class", "uncore_imc_0", "spr", "--", "true").returncode, 0)

    def test_calls_about_a_class_fail_as_often_as_stated(self):
        answer = recount("-q", "--fast", "--inject", "open:page-faults:ENFILE:1", "skl", "--", RECOUNT, "stat", "-e", "page-faults", "--", "true")
        self.assertRegex(answer.stderr, r"page-faults +\d+\n")  # opened once more after the failure


class Itself(unittest.TestCase):
    def test_recount_measures_in_processes_of_its_own(self):
        answer = recount("-q", "skl", "--", RECOUNT, "sweep", "chase", "--size", "4K", "--witness", "clock", "--repeat", "1", "-q")
        self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_counts_are_not_called_incomplete(self):
        answer = recount("-q", "skl", "--", RECOUNT, "stat", "-e", "instructions:u", "--", "true")
        self.assertRegex(answer.stderr, r"instructions:u +[\d,]+\n")
        self.assertNotIn("incomplete", answer.stderr)

    def test_hypervisor_has_a_name(self):
        machine = json.loads(recount("-q", "skl", "--", RECOUNT, "doctor", "--json").stdout)["machine"]
        self.assertTrue((machine["hypervisor"] or "none").isprintable(), machine)


unittest.main(argv=sys.argv[:1])
