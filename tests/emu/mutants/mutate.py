#!/usr/bin/env python3
"""Breaks the SM90 kernel in one place at a time and shows that the emulator notices.

usage: mutate.py --link ARGUMENTS [--ci] [--only TEXT] [--jobs N] [--problems N] [--work DIR] [--source DIR] [--compiler C++]

--link: what the linker needs besides the kernel: libraries of the fuzzing harness and of wgrad. @FILE: as the file says;
a build folder has it as tests/emu/mutants.link, beside the program emu_configs, which mutants of planned kernels need.
Exit status 0: every mutant was caught, or is known to be equivalent, and the unbroken kernels pass.
"""
import argparse
import concurrent.futures
import hashlib
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sm100_mutants
import sm100_scaled_mutants
from mutants import CI, EQUIVALENT, MUTANTS, SCALED

FLAGS = "-std=c++20 -O1 -w -DWGRAD_EMU".split()


class Bench:
    """A compiler, and what a kernel is linked with to be fuzzed."""

    def __init__(self, source, link, compiler, work=None, kernels="kernels/kernel_list.cpp"):
        self.kernels = kernels
        self.source = pathlib.Path(source)
        self.link = (pathlib.Path(link[1:]).read_text() if link.startswith("@") else link).split()
        self.compiler = compiler
        self.work = pathlib.Path(work or tempfile.mkdtemp(prefix="wgrad-mutants-"))
        self.configs = pathlib.Path(link[1:]).parent / "emu_configs" if link.startswith("@") else "emu_configs"
        self.planning, self.sources = threading.Lock(), []

    def text(self, file):
        return (self.source / "device/wgrad" / file).read_text()

    def overlay(self, name, file, old, new):
        """A folder that shadows one device file."""
        original = self.text(file)
        if original.count(old) != 1:
            raise ValueError(f"{name}: the text stands {original.count(old)} times in {file}, not once")
        folder = self.work / hashlib.sha256(name.encode()).hexdigest()[:12]
        target = folder / "wgrad" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(original.replace(old, new))
        return folder

    def compile(self, folder, source, *flags):
        """The fuzzer with the kernels of a source of tests/emu."""
        folder.mkdir(parents=True, exist_ok=True)
        includes = [f"-I{self.source / d}" for d in ("tests", "device", "src", "include", ".")]
        binary = folder / "fuzz"
        command = [*self.compiler.split(), *FLAGS, *flags, *includes, str(self.source / "tests/emu" / source),
                   "-o", str(binary), *self.link]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(f"does not compile: {done.stderr[:600]}")
        return binary

    def planned(self, fields):
        """The source of the first planned kernel, of those in which every two choices meet, with these fields."""
        with self.planning:
            if not self.sources:
                folder = self.work / "planned"
                folder.mkdir(parents=True, exist_ok=True)
                subprocess.run([str(self.configs), "covering", "2", str(folder), "sm90"], check=True)
                self.sources = sorted(folder.glob("kernel*.cu"), key=lambda path: int(path.stem[6:]))
        for source in self.sources:
            if all(f".{field} = {value}" in re.split(r"[,}\n] *", source.read_text()) for field, value in
                   (field.split("=") for field in fields.split())):
                return source
        raise ValueError(f"no planned kernel has {fields}")

    def build(self, kernel, overlay):
        overlaid = [f"-I{overlay}"] if overlay else []
        if isinstance(kernel, str):
            source = self.planned(kernel)
            return self.compile(overlay or self.work / source.stem, "fuzz/generated_kernel.cpp",
                                f'-DWGRAD_KERNEL_SOURCE="{source}"', *overlaid)
        return self.compile(overlay or self.work / f"kernel{kernel}", self.kernels,
                            f"-DWGRAD_ONLY_KERNEL={kernel}", *overlaid)

    def verdict(self, binary, problems):
        """First line of what the harness found, or '' when everything was right."""
        # In CPU time: a machine that is busy with other work must not make a survivor look noticed.
        done = subprocess.run(["sh", "-c", 'ulimit -t 600; exec "$@"', "sh", str(binary), "--problems", str(problems),
                               "--shrink", "0"], capture_output=True, text=True)
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "never ends"
        if done.returncode == 0:
            return ""
        lines = done.stdout.strip().splitlines()
        return lines[0] if lines else f"ended with status {done.returncode}"

    def judge(self, mutant, problems):
        name, file, old, new, kernel, *more = mutant
        return name, self.verdict(self.build(kernel, self.overlay(name, file, old, new)), *(more or [problems]))


def short(verdict):
    return verdict.split("failed: ")[-1][:110]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", default=pathlib.Path(__file__).resolve().parents[3])
    parser.add_argument("--link", required=True)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--work")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--ci", action="store_true")
    parser.add_argument("--scaled", action="store_true", help="of the kernel for block-scaled operands; its own link file")
    parser.add_argument("--sm100", action="store_true", help="of the SM 10.0 kernel, with --scaled of that for block-scaled operands; its own link file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--problems", type=int, default=16)
    args = parser.parse_args()
    lists, mutants, few, equivalent = {
        (False, False): ("kernels/kernel_list.cpp", MUTANTS, CI, EQUIVALENT),
        (True, False): ("kernels/scaled_kernel_list.cpp", SCALED, CI, EQUIVALENT),
        (False, True): ("kernels/sm100_kernel_list.cpp", sm100_mutants.SM100, sm100_mutants.CI, sm100_mutants.EQUIVALENT),
        (True, True): ("kernels/sm100_scaled_kernel_list.cpp", sm100_scaled_mutants.SM100_SCALED, sm100_scaled_mutants.CI,
                       sm100_scaled_mutants.EQUIVALENT),
    }[args.scaled, args.sm100]
    bench = Bench(args.source, args.link, args.compiler, args.work, lists)
    chosen = [m for m in mutants if re.search(args.only, m[0]) and (not args.ci or m[0] in few)]
    if not chosen:
        sys.exit("no such mutant")
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        kernels = sorted({m[4] for m in chosen}, key=str)
        for kernel, verdict in zip(kernels, pool.map(lambda k: bench.verdict(bench.build(k, None), args.problems), kernels)):
            if verdict:
                bad += 1
                print(f"kernel {kernel} fails unbroken: {short(verdict)}", flush=True)
        for name, verdict in pool.map(lambda m: bench.judge(m, args.problems), chosen):
            if not verdict and name not in equivalent:
                bad += 1
            outcome = short(verdict) if verdict else "SURVIVES: " + equivalent.get(name, "unexplained")
            print(f"{name:48} {outcome}", flush=True)
    print(f"{len(chosen)} mutants, {bad} findings")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
