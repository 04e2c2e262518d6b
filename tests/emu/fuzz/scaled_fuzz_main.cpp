// Random block-scaled problems over small kernels on the emulated machine. Usage: [--problems N]
// [--first NUMBER] [--kernel INDEX]; --shrink is taken and has no effect. Exit status 1 where a
// problem came out wrong.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "emu/fuzz/scaled_case.hpp"

int main(int argc, char** argv) {
  long problems = 50, first = 1, kernel = wgrad::test::only_scaled_kernel();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const long value = std::strtol(argv[i + 1], nullptr, 10);
    if (name == "--problems") problems = value;
    if (name == "--first") first = value;
    if (name == "--kernel") kernel = value;
  }
  const auto count = static_cast<long>(wgrad::test::scaled_kernels().size());
  for (long number = first; number < first + problems; ++number) {
    const long index = kernel >= 0 ? kernel : number % count;
    const std::string wrong = wgrad::test::scaled_verdict(static_cast<std::size_t>(index),
                                                          static_cast<std::uint64_t>(number));
    if (wrong.empty()) continue;
    std::printf(
        "problem %ld failed: %s\nreplay: emu_scaled_fuzz --kernel %ld --first %ld --problems 1\n",
        number, wrong.c_str(), index, number);
    return 1;
  }
  std::printf("%ld problems right\n", problems);
  return 0;
}
