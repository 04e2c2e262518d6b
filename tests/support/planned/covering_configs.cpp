#include "support/planned/covering_configs.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace wgrad::test {
namespace {

using shared::Config;

/// How boxes leave: 0 stored, 1 added by the copy engine, 2 read back first.
int way_out(const Config& c) {
  return shared::reads_output(c) ? 2 : shared::reduces_output(c) ? 1 : 0;
}

/// Boxes that one warp writes of a tile: more than its ring has slots go round.
bool goes_round(const Config& c) {
  return shared::boxes_per_cta(c) * shared::bands_per_warpgroup(c) > c.ring_slots;
}

/// CTAs of a cluster that add up boxes of a whole tile.
int owners(const Config& c) {
  return shared::ceil_div(shared::output_boxes(c), shared::boxes_per_cta(c));
}

/// Numbers for meetings, in the order in which they are first seen.
class Numbers {
 public:
  std::vector<std::size_t> of(const std::vector<Meeting>& all) {
    std::vector<std::size_t> out;
    out.reserve(all.size());
    for (const Meeting& meeting : all)
      out.push_back(numbers_.try_emplace(meeting, numbers_.size()).first->second);
    return out;
  }
  std::size_t count() const { return numbers_.size(); }

 private:
  std::unordered_map<Meeting, std::size_t> numbers_;
};

template <typename AnyConfig>
void add_fields(const AnyConfig& c, Factors& out) {
  AnyConfig::visit_fields([&](auto field) {
    if (field.origin != shared::FieldOrigin::kDepth)
      out.emplace_back(field.name, static_cast<int>(c.*field.member));
  });
}

void add_meetings(const Factors& factors, int together, std::size_t first, Meeting begun,
                  std::vector<Meeting>& out) {
  if (together == 0) {
    out.push_back(begun);
    return;
  }
  for (std::size_t i = first; i < factors.size(); ++i) {
    const Meeting one = i << 12 | static_cast<Meeting>(factors[i].second);
    add_meetings(factors, together - 1, i + 1, begun << 20 | one, out);
  }
}

}  // namespace

Factors field_factors(const Config& c) {
  Factors out = {{"tile and split", c.tile_n * 2 + static_cast<int>(c.split)}};
  add_fields(c, out);
  return out;
}

Factors field_factors(const shared::sm100::Config& c) {
  Factors out;
  add_fields(c, out);
  return out;
}

Factors field_factors(const shared::sm100_scaled::Config& c) {
  Factors out;
  add_fields(c, out);
  return out;
}

Factors emulated_factors(const Config& c) {
  Factors out = field_factors(c);
  out.emplace_back("ring slots", c.ring_slots);
  out.emplace_back("way out", way_out(c));
  out.emplace_back("owners", owners(c));
  out.emplace_back("ring goes round, by way out", goes_round(c) ? 1 + way_out(c) : 0);
  return out;
}

std::vector<Meeting> meetings(const Factors& factors, int together) {
  std::vector<Meeting> out;
  add_meetings(factors, together, 0, 0, out);
  return out;
}

std::vector<std::size_t> covering_indices(const std::vector<Factors>& all, int together) {
  Numbers numbers;
  std::vector<std::vector<std::size_t>> numbered;
  numbered.reserve(all.size());
  for (const Factors& factors : all) numbered.push_back(numbers.of(meetings(factors, together)));
  std::vector<char> open(numbers.count(), 1);
  const auto gain = [&](const std::vector<std::size_t>& of_config) {
    return std::count_if(of_config.begin(), of_config.end(),
                         [&](std::size_t number) { return open[number] != 0; });
  };
  std::vector<std::size_t> out;
  while (std::count(open.begin(), open.end(), 1) > 0) {
    std::vector<std::ptrdiff_t> gains(all.size());
    std::transform(numbered.begin(), numbered.end(), gains.begin(), gain);
    const auto best =
        static_cast<std::size_t>(std::max_element(gains.begin(), gains.end()) - gains.begin());
    out.push_back(best);
    for (const std::size_t number : numbered[best]) open[number] = 0;
  }
  return out;
}

}  // namespace wgrad::test
