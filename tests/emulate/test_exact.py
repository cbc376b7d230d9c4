#!/usr/bin/env python3
"""Counts of recount emulate --exact against arithmetic and cachegrind. Arguments: recount, the programs of counted.c and
test_kernels.cpp, and the machine of the latter."""
import functools
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

RECOUNT, COUNTED, KERNELS, PRESETS = sys.argv[1:5]
INSTRUCTIONS, LOADS, STORES, CONDITIONAL, SCALAR_DOUBLE, L1D_MISSES = "0xc0", "0x81d0", "0x82d0", "0x1c4", "0x1c7", "0x151"
EVENTS = (INSTRUCTIONS, LOADS, STORES, CONDITIONAL, L1D_MISSES)
# What a turn of counted.c executes.
TURN = {INSTRUCTIONS: 6, LOADS: 2, STORES: 1, CONDITIONAL: 1, SCALAR_DOUBLE: 2}
FEW = 100000  # turns; twice as many have as many digits
CALLS = 4000  # instructions of system calls about events, and of the dynamic linker that finds them, at most


def emulate(*command, options=("-q",), machine="skl"):
    return subprocess.run([RECOUNT, "emulate", "--exact", *options, machine, "--", *command], capture_output=True, text=True, errors="replace",
                          check=False, timeout=250)


@functools.cache
def counted(events, turns, how=()):
    """A list for each way of execution: what the events count in it."""
    answer = emulate(COUNTED, ",".join(events), str(turns), *([",".join(how)] if how else []))
    if answer.returncode:
        raise AssertionError(f"status {answer.returncode}: {answer.stderr}")
    return [[int(word) for word in line.split()] for line in answer.stdout.splitlines()]


def counted_twice():
    """Of each event of a turn: what FEW and twice as many turns count."""
    (few,), (many,) = (counted(tuple(TURN), turns) for turns in (FEW, 2 * FEW))
    return dict(zip(TURN, zip(few, many)))


def perf(events, *command):
    """User mode, without multiplexing: raw events of type 4."""
    words = [f"cpu/config={event}/u" for event in events]
    answer = emulate("perf", "stat", "-x,", "-e", ",".join(words), *command).stderr
    counts = [int(line.split(",")[0]) for line in answer.splitlines() if line[:1].isdigit()]
    return dict(zip(events, counts))


# As in recount emulate, blocks end at branches, else Valgrind joins the conditions of `a && b`; and loads whose value is not
# used stay.
EXACT = ("--vex-guest-chase=no", "--vex-iropt-unroll-thresh=0", "--vex-iropt-register-updates=allregs-at-each-insn")


def cachegrind(*command):
    with tempfile.TemporaryDirectory() as folder:
        answer = subprocess.run(["valgrind", "--tool=cachegrind", *EXACT, "--cache-sim=yes", "--branch-sim=yes", "--D1=32768,8,64",
                                 "--LL=8388608,16,64", f"--cachegrind-out-file={folder}/out", *command], capture_output=True, check=False).stderr.decode()
    values = re.search(r"I\s+refs:\s+([\d,]+).*?D\s+refs:.*?\(\s*([\d,]+) rd\s+\+\s*([\d,]+) wr\).*?D1\s+misses:\s+([\d,]+)"
                       r".*?Branches:.*?\(\s*([\d,]+) cond", answer, re.S)
    counts = [int(value.replace(",", "")) for value in values.groups()]
    return dict(zip((INSTRUCTIONS, LOADS, STORES, L1D_MISSES, CONDITIONAL), counts))


class Exact(unittest.TestCase):
    def test_every_turn_is_counted(self):
        for event, (few, many) in counted_twice().items():
            with self.subTest(event=event):
                self.assertEqual(many - few, FEW * TURN[event])
                self.assertLess(few - FEW * TURN[event], CALLS)

    def test_children_and_threads_are_inherited(self):
        for turns, how in ((50000, ("fork", "thread", "crash", "kill", "exec", "vfork", "spawn", "daemon")), (50000, ("from-exec",)),
                           (20000, ("threads", "counting-threads", "sampling-threads"))):
            with self.subTest(how=how):
                self.assertEqual(counted((SCALAR_DOUBLE,), turns, how), [[2 * turns]] * len(how))

    def test_pauses_are_left_out(self):
        self.assertEqual(counted((SCALAR_DOUBLE,), 50000, ("pause", "paused-thread")), [[2 * 50000]] * 2)

    def test_programs_that_make_no_call_are_counted_from_outside(self):
        for how in ("attached", "inherited"):
            with self.subTest(how=how):
                answer = emulate(COUNTED, INSTRUCTIONS, "100000", how)
                least, running, most, woken = map(int, answer.stdout.split())
                self.assertGreater(least, 200000)
                self.assertGreaterEqual(running, least)
                if how == "attached":  # else it counts the parent, too
                    self.assertLessEqual(running, most)
                self.assertTrue(3 <= woken < 1000, answer.stdout)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_perf_stat_of_children_ends(self):
        answer = emulate("perf", "stat", "-x,", "-e", "r01c7:u", COUNTED, "-", "5000", "kill,exec,threads").stderr
        self.assertEqual(answer.split(",")[0], "30000", answer)

    def test_counters_that_lie(self):
        def told(*options):
            return emulate(COUNTED, SCALAR_DOUBLE, "1000", options=("-q", *options))
        event = "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE"
        for options, count in ((("--dead", event), 0), (("--factor", event + "=3"), 6000), (("--change", event + "=it + 7 * it"), 16000),
                               (("--tick", "1e9", "--overcount", event + "=5", "--watchdog", "--no-smt"), 2000)):
            with self.subTest(options=options):
                self.assertEqual(told(*options).stdout, f"{count}\n")
        self.assertIn("Device or resource busy", told("--inject", f"open:{event}:EBUSY").stderr)
        self.assertIn("Permission denied", told("--paranoid", "3").stderr)
        self.assertEqual(told("--inject", f"read:{event}:EINTR:1").returncode, 1)

    def test_what_is_not_emulated_is_not_supported(self):
        snoops, fill_buffer, unknown = "0x4d2", "0x40d1", "0xfe99"  # answers of other cores; a rule of 0; no rule
        for event in (snoops, fill_buffer, unknown):
            with self.subTest(event=event):
                self.assertIn("Operation not supported", emulate(COUNTED, event, "1000").stderr)
        of_valgrind = subprocess.run([RECOUNT, "emulate", "-q", "--exact", "skl", "--", RECOUNT, "stat", "--json", "-e", "context-switches", "--", "true"],
                                     capture_output=True, text=True, check=False)
        self.assertIn("EOPNOTSUPP", of_valgrind.stdout, of_valgrind.stderr)

    def test_witnesses_of_one_execution_have_one_noise(self):
        values = []
        for seed in ("1", "2"):
            answer = emulate(COUNTED, f"{SCALAR_DOUBLE},{SCALAR_DOUBLE}", "100000", options=("-q", "--noise", "0.01", "--seed", seed))
            one, other = map(int, answer.stdout.split())
            self.assertEqual(one, other)
            values.append(one)
            self.assertAlmostEqual(one, 200000, delta=12000)
        self.assertNotEqual(values[0], values[1])
        self.assertNotIn(200000, values)

    def test_pages_refer_to_reads(self):
        self.assertEqual(emulate(COUNTED, INSTRUCTIONS, "1", "page").stdout, "0 0\n")

    def test_set_user_id_programs_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(shutil.copy(shutil.which("true"), folder))
            program.chmod(0o4755)
            answer = emulate(program)
        self.assertEqual(answer.returncode, 125)
        self.assertIn("set-user-ID", answer.stderr)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler is installed")
    def test_static_programs_are_refused_and_counted_from_outside(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder, "p.c"), pathlib.Path(folder, "p")
            source.write_text("void _start(void) { for (;;) __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(0)); }\n")
            for how in ("-static", "-static-pie"):
                subprocess.run(["cc", how, "-nostdlib", "-fcf-protection=none", source, "-o", program], check=True, capture_output=True)
                answer = emulate(program)
                self.assertEqual(answer.returncode, 125, answer.stderr)
                self.assertIn("statically linked", answer.stderr)
                self.assertEqual(emulate("env", program).returncode, 0)
            if shutil.which("perf"):
                self.assertLess(perf([INSTRUCTIONS], program)[INSTRUCTIONS], 20)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler is installed")
    def test_programs_with_address_sanitizer_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder, "p.c"), pathlib.Path(folder, "p")
            source.write_text("int main(void) { return 0; }\n")
            if subprocess.run(["cc", "-fsanitize=address", source, "-o", program], check=False, capture_output=True).returncode:
                self.skipTest("the compiler has no AddressSanitizer")
            for how in ("--exact", "--fast"):
                answer = subprocess.run([RECOUNT, "emulate", how, "skl", "--", program], capture_output=True, text=True, check=False)
                self.assertEqual((answer.returncode, answer.stdout), (125, ""))
                self.assertRegex(answer.stderr, r"\A.*is built with AddressSanitizer")

    def test_cachegrind_counts_the_same(self):
        few, many, counts = cachegrind(COUNTED, "-", str(FEW)), cachegrind(COUNTED, "-", str(2 * FEW)), counted_twice()
        for event in (INSTRUCTIONS, LOADS, STORES, CONDITIONAL):
            self.assertEqual(counts[event][1] - counts[event][0], many[event] - few[event])

    @unittest.skipUnless(platform.machine() == "x86_64", "presets.pmu describes an x86-64 processor")
    def test_kernels_execute_what_their_tallies_say(self):
        answer = emulate(KERNELS, machine=PRESETS)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_cachegrind_counts_the_same_of_gzip(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in ("a", "b")]
            text = b"".join(b"%d " % (i * i) for i in range(40000))
            files[0].write_bytes(text[:30000])
            files[1].write_bytes(text[:150000])
            emulated, simulated = [], []
            for file in files:
                emulated.append(perf(EVENTS, "gzip", "-c", file))
                simulated.append(cachegrind("gzip", "-c", file))
        # What differs by kilobytes of the file is the program's; the rest is the dynamic linker's. A repeated string
        # instruction is one instruction here, and one per element, with a branch, in cachegrind; what loads, changes and stores is a load
        # in cachegrind alone, and also a store here.
        for event, tolerance in zip(EVENTS, (0.01, 0.0005, 0.05, 0.03, 0.01)):
            grown = [side[1][event] - side[0][event] for side in (emulated, simulated)]
            self.assertAlmostEqual(grown[0] / grown[1], 1, delta=tolerance, msg=f"{event}: {grown}")

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_multiplexed_counts_say_so(self):
        # Five events for four counters: each runs for four fifths of the time, by which perf scales.
        events = "r01c4:u,r81d0:u,r82d0:u,r01c7:u,r08c4:u"
        lines = [line.split(",") for line in emulate("perf", "stat", "-x,", "-e", events, COUNTED, "-", str(100 * FEW)).stderr.splitlines()]
        values = {fields[2]: (int(fields[0]), float(fields[4])) for fields in lines if fields[0].isdigit()}
        for event, each in (("r01c4:u", 1), ("r81d0:u", 2), ("r82d0:u", 1), ("r01c7:u", 2)):
            self.assertAlmostEqual(values[event][1], 80, delta=8)
            self.assertAlmostEqual(values[event][0] / (100 * FEW * each), 1, delta=0.1)

    def test_status_streams_and_signals_are_the_programs(self):
        answer = subprocess.run([RECOUNT, "emulate", "--exact", "-q", "skl", "--", "sh", "-c", "cat; exit 3"], input="in\n",
                                capture_output=True, text=True, check=False, timeout=250)
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (3, "in\n", ""))
        self.assertEqual(emulate("sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_what_needs_valgrind_is_refused_at_once(self):
        for words, status in ((["stat", "--witness", "model:i7-9700", "-e", "PAPI_L1_DCM", "--", "true"], 125), (["check", "--program", "true"], 3),
                              (["profile", "-e", "model:i7-9700:PAPI_L1_DCM", "true"], 125), (["profile", "--function", "main", "true"], 125)):
            with self.subTest(command=words):
                answer = emulate(RECOUNT, *words)
                self.assertEqual(answer.returncode, status)
                self.assertRegex(answer.stderr, r"recount runs under Valgrind\s+itself here|Valgrind executes copies")
                self.assertNotIn("valgrind:", answer.stderr)

    def test_doctor_reads_the_machine(self):
        answer = emulate(RECOUNT, "doctor", "-v")
        self.assertEqual(answer.stderr, "")  # hwloc is silent
        self.assertNotRegex(answer.stdout, r"clock source tsc,[^/]*fix: echo tsc")

    def test_first_line_says_that_counts_are_emulated(self):
        self.assertIn("counts are emulated: skl", emulate("true", options=()).stderr.splitlines()[0])

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_processes_outside_are_not_counted(self):
        with subprocess.Popen(["sleep", "60"]) as outside:
            foreign = emulate("perf", "stat", "-x,", "-e", "instructions:u", "-p", str(outside.pid), "--", "true").stderr
            outside.kill()
        self.assertNotRegex(foreign, r"(?m)^\d+,,instructions")

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_perf_stat_counts_user_mode_only(self):
        def user(turns):
            answer = emulate("perf", "stat", "-x,", "-e", "instructions:k,instructions:u,r01c7:u", COUNTED, INSTRUCTIONS, str(turns)).stderr
            self.assertRegex(answer, r"<not supported>,,instructions:k")
            return [int(line.split(",")[0]) for line in answer.splitlines() if line[:1].isdigit()]
        few, many = user(FEW), user(2 * FEW)
        # The dynamic linker's instructions depend on addresses, too.
        self.assertAlmostEqual(many[0] - few[0], 6 * FEW, delta=CALLS)
        self.assertEqual(many[1] - few[1], 2 * FEW)


first = emulate("true")
if first.returncode:
    print("SKIP:", first.stderr)
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
