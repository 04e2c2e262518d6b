#!/usr/bin/env python3
"""Fuzzes kernels of configurations drawn from all that the planner chooses from, each as codegen writes it.

usage: random_kernels.py --seed S [--build DIR] [--count 30] [--problems 10000] [--jobs N] [--compiler C++] [--work DIR]

--build: a build folder with the targets emu_fuzz and emu_random_configs. --problems: of all kernels together.
--jobs: kernels compiled and fuzzed at once. The same seed draws the same configurations, problems and schedules.
--work: where sources and programs are kept; otherwise only those of a run that found something wrong are.
Exit status 0: every problem of every kernel was right.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from mutate import Bench

ROOT = pathlib.Path(__file__).resolve().parents[2]


def config(source):
    """What is between the braces of kConfig, on one line."""
    return " ".join(re.search(r"kConfig\{(.*?)\};", source.read_text(), re.DOTALL)[1].split())


def fuzz(bench, source, first, problems):
    """Status and words of a kernel's run; a failure comes with the program that shows it again."""
    try:
        binary = bench.compile(source.with_suffix(""), "generated_kernel.cpp", f'-DWGRAD_KERNEL_SOURCE="{source}"')
    except ValueError as error:
        return 1, str(error)
    done = subprocess.run([str(binary), "--first", str(first), "--problems", str(problems)], capture_output=True, text=True)
    words = (done.stdout + done.stderr).strip() or f"ended with status {done.returncode}"
    return done.returncode, words.replace("replay: emu_fuzz", f"replay: {binary}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
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
    subprocess.run([str(programs / "emu_random_configs"), str(args.seed), str(args.count), str(work)], check=True)
    bench = Bench(ROOT, f"@{programs / 'mutants.link'}", args.compiler, work)
    each = -(-args.problems // args.count)
    sources = [work / f"kernel{i}.cu" for i in range(args.count)]
    firsts = [1 + args.seed * 1_000_000 + i * each for i in range(args.count)]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = pool.map(lambda source, first: fuzz(bench, source, first, each), sources, firsts)
        for source, (status, words) in zip(sources, runs):
            bad += status != 0
            print(f"{config(source)}\n  {words}", flush=True)
    print(f"{args.count} kernels, {each} problems each, {bad} kernels wrong{'; ' + str(work) if bad else ''}")
    if not bad and not args.work:
        shutil.rmtree(work)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
