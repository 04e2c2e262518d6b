#!/usr/bin/env python3
"""Fuzzes kernels of configurations that the planner chooses from, each as codegen writes it.

usage: random_kernels.py --seed S [--count 30] | --covering 3
           [--family sm90|sm100] [--build DIR] [--problems 10000] [--jobs N] [--compiler C++] [--work DIR]

--seed: draws that many configurations of all; the same seed draws the same ones, problems and schedules. `commit`: a
seed of the checkout's commit, or of the kernel's and the planner's text where that is not known.
--covering: takes those in which every two, or three, choices meet (tests/support/planned/covering_configs.hpp).
--build: a build folder with the targets emu_fuzz (emu_sm100_fuzz) and emu_configs. --problems: of all kernels together.
--jobs: kernels compiled and fuzzed at once.
--work: where sources and programs are kept; otherwise only those of a run that found something wrong are.
Exit status 0: every problem of every kernel was right.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "mutants"))
from mutate import Bench

ROOT = pathlib.Path(__file__).resolve().parents[3]


def seed_of_commit():
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    if done.returncode == 0:
        return int(done.stdout[:6], 16)
    digest = hashlib.sha256()
    for path in sorted([*(ROOT / "device").rglob("*.*"), *(ROOT / "src/kernels").rglob("*.*")]):
        digest.update(path.read_bytes())
    return int(digest.hexdigest()[:6], 16)


# A family's source of the fuzzing program and what it is linked with.
FAMILIES = {"sm90": ("fuzz/generated_kernel.cpp", "mutants.link"),
            "sm100": ("fuzz/sm100_generated_kernel.cpp", "sm100_mutants.link")}


def config(source):
    """What is between the braces of kConfig, on one line."""
    return " ".join(re.search(r"kConfig\{(.*?)\};", source.read_text(), re.DOTALL)[1].split())


def fuzz(bench, program, source, first, problems):
    """Status and words of a kernel's run; a failure comes with the program that shows it again."""
    try:
        binary = bench.compile(source.with_suffix(""), program, f'-DWGRAD_KERNEL_SOURCE="{source}"')
    except ValueError as error:
        return 1, str(error)
    done = subprocess.run([str(binary), "--first", str(first), "--problems", str(problems)], capture_output=True, text=True)
    words = (done.stdout + done.stderr).strip() or f"ended with status {done.returncode}"
    return done.returncode, words.replace("replay: emu_fuzz", f"replay: {binary}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--seed", type=lambda text: seed_of_commit() if text == "commit" else int(text))
    kind.add_argument("--covering", type=int, choices=(2, 3))
    parser.add_argument("--family", choices=FAMILIES, default="sm90")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--problems", type=int, default=10000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--work")
    args = parser.parse_args()
    programs = args.build.resolve() / "tests/emu"
    work = pathlib.Path(args.work or tempfile.mkdtemp(prefix="wgrad-random-")).resolve()
    work.mkdir(parents=True, exist_ok=True)
    if args.count < 1:
        parser.error("--count must be at least 1")
    wanted = ["covering", args.covering] if args.covering else ["random", args.seed, args.count]
    print("emu_configs", *wanted, flush=True)
    subprocess.run([str(programs / "emu_configs"), *map(str, wanted), str(work), args.family], check=True)
    program, link = FAMILIES[args.family]
    bench = Bench(ROOT, f"@{programs / link}", args.compiler, work)
    sources = sorted(work.glob("kernel*.cu"), key=lambda path: int(path.stem[6:]))
    each = -(-args.problems // len(sources))
    firsts = [1 + (args.seed or 0) * 1_000_000 + i * each for i in range(len(sources))]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = pool.map(lambda source, first: fuzz(bench, program, source, first, each), sources, firsts)
        for source, (status, words) in zip(sources, runs):
            bad += status != 0
            print(f"{config(source)}\n  {words}", flush=True)
    print(f"{len(sources)} kernels, {each} problems each, {bad} kernels wrong{'; ' + str(work) if bad else ''}")
    if not bad and not args.work:
        shutil.rmtree(work)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
