#include "emu/bits/bit_program.hpp"

#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <optional>

#include "emu/bits/bit_cases.hpp"
#include "emu/bits/bit_record.hpp"

namespace wgrad::test {
namespace {

struct Arguments {
  std::string record, compare, raw;
};

int run(const Arguments& arguments, const BitKernels& kernels, const BitRunner& runner) {
  std::optional<BitRecord> known;
  if (!arguments.compare.empty()) known = read_bit_record(arguments.compare);
  BitRecord got;
  std::size_t number = 0, wrong = 0;
  for (const KernelCase& k : bit_cases(kernels)) {
    const Bytes image = runner(k, bit_case_data(kernels, k));
    const std::string name = bit_case_name(kernels, k), digest = bits_digest(image);
    got.emplace(name, digest);
    if (!arguments.raw.empty()) {
      std::ofstream(fmt::format("{}/bits_{:03}.bin", arguments.raw, number), std::ios::binary)
          .write(reinterpret_cast<const char*>(image.data()),
                 static_cast<std::streamsize>(image.size()));
    }
    ++number;
    if (!known || (known->count(name) != 0 && known->at(name) == digest)) continue;
    ++wrong;
    fmt::print("differs from the record: {}\n", name);
  }
  if (!arguments.record.empty()) write_bit_record(arguments.record, got);
  fmt::print("{} cases, {} differ from the record\n", number, wrong);
  return wrong == 0 && number > 0 ? 0 : 1;
}

}  // namespace

int bit_program(const std::vector<std::string>& given, const BitKernels& kernels,
                const BitRunner& runner) {
  Arguments arguments;
  for (std::size_t i = 0; i + 1 < given.size(); i += 2) {
    const std::string &name = given[i], &value = given[i + 1];
    if (name == "--record") arguments.record = value;
    if (name == "--compare") arguments.compare = value;
    if (name == "--raw") arguments.raw = value;
  }
  try {
    return run(arguments, kernels, runner);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}

}  // namespace wgrad::test
