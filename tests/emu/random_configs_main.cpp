// emu_random_configs SEED COUNT FOLDER: writes kernel0.cu, kernel1.cu, ...: the sources that NVRTC
// would get of different configurations, drawn from all that the planner knows.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/random.hpp"
#include "kernels/sm90/source.hpp"
#include "support/harness.hpp"
#include "support/planned_configs.hpp"

namespace {

using namespace wgrad;

std::vector<shared::Config> drawn(std::uint64_t seed, std::size_t count) {
  std::vector<shared::Config> all = test::planned_configs();
  test::Random random(seed);
  for (std::size_t i = 0; i < count && i < all.size(); ++i) {
    const auto last = static_cast<std::int64_t>(all.size()) - 1;
    const auto chosen = random.integer(static_cast<std::int64_t>(i), last);
    std::swap(all[i], all[static_cast<std::size_t>(chosen)]);
  }
  fmt::print("{} of {} configurations\n", std::min(count, all.size()), all.size());
  if (count < all.size()) all.resize(count);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return fmt::print(stderr, "usage: emu_random_configs SEED COUNT FOLDER\n"), 2;
  const auto configs =
      drawn(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
  for (std::size_t i = 0; i < configs.size(); ++i) {
    std::ofstream file(fmt::format("{}/kernel{}.cu", argv[3], i));
    file << kernels::sm90::source(configs[i]).text;
    if (!file.flush()) return fmt::print(stderr, "cannot write to {}\n", argv[3]), 1;
  }
  return 0;
}
