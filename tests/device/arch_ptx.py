"""The PTX of every arch:: function: the table arch_ptx.txt, what the compiler gives, what is missing.

usage: arch_ptx.py            prints the table with what the compiler gives now, to be read before it is kept
       arch_ptx.py --missing  names the functions that the table lacks

The table has sections `== sm_90a`, one for each architecture, of entries

    call(u32 barrier, u32* out): out[0] = arch::barrier_name(barrier);
        the PTX that it gives, a line for each instruction

The first line is a kernel's parameters and body. A `const TensorMap& map` is a parameter in constant memory. A body
that says WITH(d, 32, ...) reads float d[32] from `io`, runs the rest, and writes d back.

The PTX is that of the whole kernel, with names for what NVRTC numbers: a parameter has its own name, &map is a
parameter's address, t0, t1 and p0, p1 are registers in the order in which they are first named, d[i] is io[i].
Loads of parameters, stores of d, and what has no effect on its own (.reg, braces) are left out.
"""
import ctypes
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("arch_ptx.txt")
ARCH = ROOT / "device/wgrad/arch"
HEADER = "call("


# --- What must be in the table.

def functions(folder):
    """Names of the functions that a folder of device/wgrad/arch defines, with a file that each is in."""
    found = {}
    for path in sorted((ARCH / folder).glob("*")):
        text = path.read_text()
        for macro in re.findall(r"#define (\w+)\(name\b", text):  # defines a function of the name it is given
            found.update((name, path.name) for name in re.findall(rf"^{macro}\((\w+)", text, re.MULTILINE))
        names = re.findall(r"WGRAD_DEVICE\s+[\w:<> ]+?\s+(\w+)\(", text)
        found.update((name, path.name) for name in names if name != "name")
    return found


def calls(entries):
    return {name for entry in entries for name in re.findall(r"\barch::(\w+)", entry.body)}


def missing(entries):
    """A sentence for each function of arch/ptx without an entry."""
    present = calls(entries)
    return [f"arch::{name} of arch/ptx/{file} has no entry in tests/device/{TABLE.name}"
            for name, file in functions("ptx").items() if name not in present]


# --- The table.

class Entry:
    def __init__(self, arch, parameters, body):
        self.arch, self.parameters, self.body, self.ptx = arch, parameters, body, []

    @property
    def line(self):
        return f"call({self.parameters}): {self.body}"

    def names(self):
        return [re.search(r"(\w+)$", p.strip())[1] for p in self.parameters.split(",") if p.strip()]

    def kernel(self, name):
        parameters = self.parameters.replace("const TensorMap&", "const __grid_constant__ TensorMap")
        return f'extern "C" __global__ void {name}({parameters}) {{ {self.body} }}\n'


def read_table(text):
    entries, arch = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            arch = line[3:].strip()
        elif line.startswith(HEADER):
            match = re.fullmatch(r"call\((.*?)\): (.*)", line)
            if not match or arch is None:
                raise ValueError(f"{TABLE.name}:{number}: not `call(PARAMETERS): BODY` below a `== sm_...`: {line}")
            entries.append(Entry(arch, *match.groups()))
        elif line.startswith("    ") and entries:
            entries[-1].ptx.append(line.strip())
        else:
            raise ValueError(f"{TABLE.name}:{number}: neither a section, an entry nor its PTX: {line}")
    return entries


# --- What the compiler gives.

PRELUDE = """#include "wgrad/arch/arch.cuh"
using namespace wgrad::shared;
namespace arch = wgrad::device::arch;
#define WITH(d, count, ...) \\
  float d[count]; \\
  for (u32 i = 0; i < count; ++i) d[i] = io[i]; \\
  __VA_ARGS__; \\
  for (u32 i = 0; i < count; ++i) io[i] = d[i];
"""


@functools.cache
def nvrtc():
    """The NVRTC of this environment's wheels, or of the toolkit; None where there is none."""
    folders = [folder for entry in sys.path if entry
               for pattern in ("nvidia/cu[0-9]*/lib", "nvidia/cuda_nvrtc/lib")
               for folder in sorted(pathlib.Path(entry).glob(pattern), reverse=True)]
    folders += [pathlib.Path("/usr/local/cuda/lib64")]
    for folder in folders:
        for file in sorted(folder.glob("libnvrtc.so*")):
            return ctypes.CDLL(str(file))
    return None


def text_of(library, program, what):
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()


def compiled(arch, source):
    library = nvrtc()
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"arch_ptx.cu", 0, None, None)
    options = [f"-arch={arch}", "-std=c++20", "-default-device", f"-I{ROOT / 'device'}"]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(
        *(option.encode() for option in options)))
    if failed:
        raise ValueError(text_of(library, program, "ProgramLog"))
    ptx = text_of(library, program, "PTX")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


class Names:
    """What a kernel's registers are called."""

    def __init__(self, parameters):
        self.parameters, self.known, self.count = parameters, {}, {"t": 0, "p": 0}

    def parameter(self, number):
        return self.parameters[int(number)]

    def of(self, register):
        if register not in self.known:
            kind = "p" if register.startswith("%p") else "t"
            self.known[register] = f"{kind}{self.count[kind]}"
            self.count[kind] += 1
        return self.known[register]

    def in_line(self, line):
        line = re.sub(r"%(?:r|rd|rs|f|fd|p|rq|h|b|bd|hh)\d+\b", lambda match: self.of(match[0]), line)
        return re.sub(r"(?<=\{)(d\[0\]|t0)(?:, (?:d\[|t)\d+\]?){4,}(?=\})", first_to_last, line)


def first_to_last(match):
    """Names that count up, as the first and the last; others as they stand."""
    names = match[0].split(", ")
    counted = [names[0].replace("0", str(i)) for i in range(len(names))]
    return f"{names[0]} to {names[-1]}" if names == counted else match[0]


def stores_as_one(lines):
    """Neighbouring elements of io that take t0, t1, ... stand in one line."""
    out = []
    for line in lines:
        match = re.fullmatch(r"st\.global\.[fb]32 \[io(?:\+(\d+))?\], t(\d+)", line)
        if match and int(match[1] or 0) == 4 * int(match[2]):
            if out and out[-1].startswith("io[0] to"):
                out.pop()
            line = f"io[0] to io[{match[2]}] = t0 to t{match[2]}"
        out.append(line)
    return out


def normal_line(line, names):
    """A line of a kernel with its own names; None where it only brings a parameter or takes d away."""
    load = re.fullmatch(r"ld\.param\.\w+ (%\w+), \[\w+_param_(\d+)\]", line)
    address = re.fullmatch(r"mov\.[bu]64 (%\w+), \w+_param_(\d+)", line)
    cast = re.fullmatch(r"cvta\.(?:param|to\.global)\.u64 (%\w+), (%\w+)", line)
    element = re.fullmatch(r"ld\.global\.[fb]32 (%\w+), \[(%\w+)(?:\+(\d+))?\]", line)
    store = re.fullmatch(r"st\.global\.[fb]32 \[(%\w+)(?:\+(\d+))?\], (%\w+)", line)
    if load:
        names.known[load[1]] = names.parameter(load[2])
    elif address:
        names.known[address[1]] = "&" + names.parameter(address[2])
    elif cast:
        names.known[cast[1]] = names.of(cast[2])
    elif element and names.of(element[2]) == "io":
        names.known[element[1]] = f"d[{int(element[3] or 0) // 4}]"
    elif store and names.of(store[1]) == "io" and names.of(store[3]) == f"d[{int(store[2] or 0) // 4}]":
        pass
    else:
        return names.in_line(line)
    return None


def normal_lines(body, parameters):
    names, lines = Names(parameters), []
    for raw in body.split("\n"):
        for line in raw.split(";"):
            line = re.sub(r"\s+", " ", line.split("//")[0]).strip().lstrip("{").rstrip("\n")
            if line in ("", "}", "ret") or line.startswith((".reg", ".pragma")):
                continue
            normal = normal_line(line.strip(), names)
            if normal:
                normal = re.sub(r"mov\.u\d\d (\w+), _Z\w+dynamic_shared_memoryE", r"mov \1, dynamic_shared_memory", normal)
                lines.append(re.sub(r"\$L__BB\d+_(\d+)", r"L\1", normal))
    return stores_as_one(lines)


def compiler_gives(entries):
    """The lines of each entry, in their order; ValueError with the compiler's words where one does not compile."""
    given = {}
    for arch in dict.fromkeys(entry.arch for entry in entries):
        of_arch = [entry for entry in entries if entry.arch == arch]
        source = PRELUDE + "".join(entry.kernel(f"entry{i}_") for i, entry in enumerate(of_arch))
        ptx = compiled(arch, source)
        for i, entry in enumerate(of_arch):
            body = re.search(rf"\.entry entry{i}_\(.*?\)\s*\{{(.*?)\n\s*ret;\s*\n\}}", ptx, re.DOTALL)[1]
            body = re.sub(r"// begin inline asm\s*// end inline asm", "asm of no instruction;", body)
            given[entry] = normal_lines(body, entry.names())
    return [given[entry] for entry in entries]


def assemble(entries, arch):
    """Compiles the entries to machine code of `arch`; ValueError with the assembler's words where one does not."""
    compiled(arch, PRELUDE + "".join(entry.kernel(f"entry{i}_") for i, entry in enumerate(entries)))


def main():
    entries = read_table(TABLE.read_text())
    if sys.argv[1:] == ["--missing"]:
        print("\n".join(missing(entries)) or "every function has an entry")
        return
    arch = None
    for entry, lines in zip(entries, compiler_gives(entries)):
        if entry.arch != arch:
            arch = entry.arch
            print(f"== {arch}")
        print(f"\n{entry.line}")
        print("".join(f"    {line}\n" for line in lines), end="")


if __name__ == "__main__":
    main()
