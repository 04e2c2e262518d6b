#include "harness/random_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/elements.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::harness {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  return mix(mix(seed) ^ index);
}

float random_normal(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, index);
  std::int64_t sum = 0;  // of four uniform 16-bit numbers
  for (int part = 0; part < 4; ++part) sum += static_cast<std::int64_t>(bits >> 16 * part & 0xFFFF);
  constexpr float kMean = 2 * 65535.0F;
  constexpr float kInverseDeviation = 1.7320508F / 65536.0F;  // variance of the sum: 4 * 2^32 / 12
  return (static_cast<float>(sum) - kMean) * kInverseDeviation;
}

void fill_random(DType dtype, std::span<std::byte> array, std::uint64_t seed, int threads) {
  const auto elements = static_cast<std::int64_t>(array.size()) * 8 / bits(dtype);
  const auto fill = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      store(dtype, array.data(), i, random_normal(seed, static_cast<std::uint64_t>(i)));
    }
  };
  const std::int64_t share = elements / std::max(threads, 1) + 1;
  std::vector<std::jthread> workers;
  try {
    for (std::int64_t begin = share; begin < elements; begin += share) {
      workers.emplace_back(fill, begin, std::min(begin + share, elements));
    }
  } catch (const std::system_error& error) {
    throw RuntimeError(
        fmt::format("wgrad: threads is {}; it must be at most what this process may start, now {}: "
                    "{}",
                    threads, workers.size() + 1, error.code().message()));
  }
  fill(0, std::min(share, elements));
}

}  // namespace wgrad::harness
