#!/usr/bin/env python3
"""Right rows that recount check calls wrong on simulated machines that disturb counts: none may be.

tests/pmu/accusations.py [--runs N] [--repeat N] [--general N] [--build DIRECTORY] [--log FILE] [MACHINE...]

For each machine (default: skl, zen4, spr) and each disturbance, `recount check` judges the rows of tables/MACHINE.csv
N times (default 20), with another seed each time. "unstable" is no accusation: it asks for more repetitions. With
--general 24 all events of a point are counted at once, and with --repeat 1 a run takes half a minute of CPU time, else
several. FILE keeps each run, and another start with the same FILE continues. Exit status: 1 if a right row is called
wrong. The table that it prints is in README.md.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DISTURBANCES = {
    "none": [],
    "noise 0.01": ["--noise", "0.01"],
    "noise 0.05": ["--noise", "0.05"],
    "prefetch 0.15": ["--set", "prefetch=0.15"],
    "watchdog": ["--watchdog"],
    "two counters": ["--general", "2"],  # perf and PAPI count executions of their own, events in turn
}
OVERCOUNTED = {"skl": "INST_RETIRED.ANY_P", "zen4": "PMCx0C0", "spr": "INST_RETIRED.ANY_P"}
WRONG = {"broken invariant", "meaning differs", "dead", "mapping differs"}


def verdicts(options, machine, seed, build, repeat):
    table = HERE / "tables" / f"{machine}.csv"
    presets = [line.split(",")[1] for line in table.read_text().splitlines() if line.startswith("PRESET,")]
    answer = subprocess.run(
        [HERE / "run", *(["--build", build] if build else []), *options, "--seed", str(seed), machine,
         (pathlib.Path(build) if build else HERE.parent.parent / "build") / "src/recount", "check", "--json", "-q",
         "--seed", str(seed), "--repeat", str(repeat), "--table", table, *presets],
        capture_output=True, text=True, check=False)
    if not answer.stdout.startswith("{"):
        sys.exit(f"recount check failed on {machine}: {answer.stderr}")
    return {one["preset"]: one for one in json.loads(answer.stdout)["verdicts"]}


def conditions(machines, only, general):
    for machine in machines:
        disturbances = DISTURBANCES | {"overcount": ["--overcount", f"{OVERCOUNTED[machine]}=1"]}
        for name, how in disturbances.items():
            more = ["--general", str(general)] if general and "--general" not in how else []
            if only in (None, name):
                yield machine, name, [*more, *how]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--general", type=int, help="counters, except where two are tried (default: the machine's)")
    parser.add_argument("--build")
    parser.add_argument("--log", type=pathlib.Path, help="keep runs here, and do not repeat those that it has")
    parser.add_argument("--only", help="one disturbance")
    parser.add_argument("machines", nargs="*", default=list(OVERCOUNTED))
    options = parser.parse_args()
    lines = options.log.read_text().splitlines() if options.log and options.log.exists() else []
    runs = {(one["machine"], one["disturbance"], one["seed"]): one["verdicts"] for one in map(json.loads, lines)}
    wanted = list(conditions(options.machines, options.only, options.general))
    for seed in range(1, options.runs + 1):  # all conditions are tried before any is repeated
        for machine, name, how in wanted:
            if (machine, name, seed) in runs:
                continue
            found = {preset: [one["verdict"], one["why"]]
                     for preset, one in verdicts(how, machine, seed, options.build, options.repeat).items()}
            runs[machine, name, seed] = found
            if options.log:
                with options.log.open("a") as log:
                    print(json.dumps({"machine": machine, "disturbance": name, "seed": seed, "verdicts": found}), file=log)
    accused = 0
    print("| machine | disturbance | runs | agrees | plausible | unstable | wrong |\n|---|---|---|---|---|---|---|")
    for machine, name, _ in wanted:
        totals = dict.fromkeys(("agrees", "plausible", "unstable", "wrong"), 0)
        for seed in range(1, options.runs + 1):
            for preset, (verdict, why) in runs[machine, name, seed].items():
                kind = "wrong" if verdict in WRONG else verdict
                totals[kind] = totals.get(kind, 0) + 1
                if kind == "wrong":
                    print(f"{machine}, {name}, seed {seed}: {preset}: {verdict}: {why}", file=sys.stderr)
        accused += totals["wrong"]
        print(f"| {machine} | {name} | {options.runs} | {totals['agrees']} | {totals['plausible']} | {totals['unstable']} | "
              f"{totals['wrong']} |")
    return 1 if accused else 0


sys.exit(main())
