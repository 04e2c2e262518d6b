// Few configurations of the SM90 kernel in which the choices of many meet.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wgrad/sm90/config.hpp"

namespace wgrad::test {

/// A name and a value for what a configuration chooses or is given.
using Factors = std::vector<std::pair<std::string, int>>;

/// Every field that follows from no other, and the tile's width and split as one.
Factors field_factors(const shared::Config& config);

/// These, and what follows from them where it decides what the kernel's code does: the ring's
/// slots, how the output is written, who of a cluster adds up which boxes.
Factors emulated_factors(const shared::Config& config);

/// Factors that stand together in one configuration, up to three: 20 bits each of number and value.
using Meeting = std::uint64_t;

/// Every `together` of the factors, of values below 4096.
std::vector<Meeting> meetings(const Factors& factors, int together);

/// Chosen from `all`, so that every `together` factors that meet in one of `all` meet in one of
/// the chosen: again and again the configuration with most that have not met.
std::vector<shared::Config> covering_configs(const std::vector<shared::Config>& all,
                                             Factors (*factors)(const shared::Config&),
                                             int together);

}  // namespace wgrad::test
