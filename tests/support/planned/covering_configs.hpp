// Few configurations of a kernel in which the choices of many meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wgrad/sm100/config.hpp"
#include "wgrad/sm100_scaled/config.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::test {

/// A name and a value for what a configuration chooses or is given.
using Factors = std::vector<std::pair<std::string, int>>;

/// Every field that follows from no other; on SM90 the tile's width and split as one, too.
Factors field_factors(const shared::Config& config);
Factors field_factors(const shared::sm100::Config& config);
Factors field_factors(const shared::sm100_scaled::Config& config);

/// These, and what follows from them where it decides what the kernel's code does: the ring's
/// slots, how the output is written, who of a cluster adds up which boxes.
Factors emulated_factors(const shared::Config& config);

/// Factors that stand together in one configuration, up to three: 20 bits each of number and value.
using Meeting = std::uint64_t;

/// Every `together` of the factors, of values below 4096.
std::vector<Meeting> meetings(const Factors& factors, int together);

/// Places in `all` of those that covering_configs chooses.
std::vector<std::size_t> covering_indices(const std::vector<Factors>& all, int together);

/// Chosen from `all`, so that every `together` factors that meet in one of `all` meet in one of
/// the chosen: again and again the configuration with most that have not met.
template <typename Config>
std::vector<Config> covering_configs(const std::vector<Config>& all,
                                     Factors (*factors)(const Config&), int together) {
  std::vector<Factors> of_all;
  of_all.reserve(all.size());
  for (const Config& c : all) of_all.push_back(factors(c));
  std::vector<Config> out;
  for (const std::size_t index : covering_indices(of_all, together)) out.push_back(all[index]);
  return out;
}

}  // namespace wgrad::test
