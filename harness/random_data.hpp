// Random numbers that depend on seed and index only, so that any number of threads fills alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wgrad/dtype.hpp"

namespace wgrad::harness {

/// 64 random bits.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index);

/// A number with mean 0 and variance 1, close to normal, within 3.5 of 0.
float random_normal(std::uint64_t seed, std::uint64_t index);

/// Element i becomes random_normal(seed, i); kBf16, kF16 or kF32. Throws RuntimeError where so many
/// threads cannot be started.
void fill_random(DType dtype, std::span<std::byte> array, std::uint64_t seed, int threads);

}  // namespace wgrad::harness
