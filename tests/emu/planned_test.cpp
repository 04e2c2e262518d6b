// The list of kernels that emu_planned_fuzz runs, beside what the planner chooses from.
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "emu/kernels/kernel_list.hpp"
#include "support/planned/covering_configs.hpp"
#include "support/planned/planned_configs.hpp"

namespace wgrad::test {
namespace {

using shared::Config;

std::vector<Config> listed() {
  std::vector<Config> out;
  for (const auto& kernel : kernels()) out.push_back(kernel.config);
  return out;
}

std::unordered_set<Meeting> all_meetings(const std::vector<Config>& configs, int together) {
  std::unordered_set<Meeting> out;
  for (const Config& c : configs) {
    for (const Meeting meeting : meetings(emulated_factors(c), together)) out.insert(meeting);
  }
  return out;
}

TEST(PlannedKernels, EachCanBePlanned) {
  const std::vector<Config> planned = planned_configs();
  for (const Config& c : listed())
    EXPECT_NE(std::find(planned.begin(), planned.end(), c), planned.end());
}

TEST(PlannedKernels, EveryTwoChoicesMeet) {
  EXPECT_EQ(all_meetings(listed(), 2), all_meetings(planned_configs(), 2));
}

/// Those of the test emu_planned_triples.
TEST(PlannedKernels, EveryThreeChoicesMeetInTheLongList) {
  const std::vector<Config> planned = planned_configs();
  const std::vector<Config> covering = covering_configs<Config>(planned, emulated_factors, 3);
  EXPECT_LT(covering.size(), planned.size() / 50);
  EXPECT_EQ(all_meetings(covering, 3), all_meetings(planned, 3));
}

struct Fact {
  const char* text;
  bool (*holds)(const Config&);
};

int owned_ranks(const Config& c) {
  return shared::ceil_div(shared::output_boxes(c), shared::boxes_per_cta(c));
}

/// A warp writes more boxes of a tile than its ring has slots.
bool goes_round(const Config& c) {
  return shared::boxes_per_cta(c) * shared::bands_per_warpgroup(c) > c.ring_slots;
}
bool reads_round(const Config& c, int slots) {
  return shared::reads_output(c) && goes_round(c) && c.ring_slots == slots;
}

/// Each is the reason of code of its own.
constexpr Fact kFacts[] = {
    {"a ring of 2 goes round, read back", [](const Config& c) { return reads_round(c, 2); }},
    {"a ring of 3 goes round, read back", [](const Config& c) { return reads_round(c, 3); }},
    {"a ring of 4 goes round, read back", [](const Config& c) { return reads_round(c, 4); }},
    {"a ring goes round, added",
     [](const Config& c) { return shared::reduces_output(c) && goes_round(c); }},
    {"read back into a ring that shares of a tile do not fill",
     [](const Config& c) { return shared::reads_output(c) && c.split_k > 1 && !goes_round(c); }},
    {"two shares, every rank an owner",
     [](const Config& c) { return c.split_k == 2 && owned_ranks(c) == 2; }},
    {"three shares, every rank an owner",
     [](const Config& c) { return c.split_k == 3 && owned_ranks(c) == 3; }},
    {"four shares, ranks 2 and 3 owners",
     [](const Config& c) { return c.split_k == 4 && owned_ranks(c) == 4; }},
    {"six shares, ranks without boxes",
     [](const Config& c) { return c.split_k == 6 && owned_ranks(c) < 6; }},
    {"narrow last tile, cooperative",
     [](const Config& c) {
       return c.tail_n > 0 && c.split == shared::WarpgroupSplit::kRows && c.split_k == 1;
     }},
    {"narrow last tile, in turns",
     [](const Config& c) { return c.tail_n > 0 && c.split == shared::WarpgroupSplit::kTiles; }},
    {"narrow last tile of each width",
     [](const Config& c) { return c.tail_n == 192 && c.partial_columns; }},
    {"narrow last tile, shared tokens",
     [](const Config& c) { return c.tail_n > 0 && c.split_k > 2; }},
    {"shared tokens that start before the expert's first",
     [](const Config& c) { return c.split_k > 1 && shared::aligns_first_token(c); }},
    {"a pair whose threads copy",
     [](const Config& c) { return c.cluster_m == 2 && shared::uses_loader(c); }},
    {"a pair that shares rows of B",
     [](const Config& c) { return shared::uses_multicast(c) && !shared::is_mn_major(c.b); }},
    {"a pair that shares tokens of B",
     [](const Config& c) { return shared::uses_multicast(c) && shared::is_mn_major(c.b); }},
    {"the deepest stages", [](const Config& c) { return c.stages == 12; }},
    {"the shallowest stages that move rows",
     [](const Config& c) { return shared::moves_rows(c) && c.stages <= 4; }},
    {"edges added in FP32",
     [](const Config& c) { return c.partial_columns && shared::reduces_output(c); }},
    {"edges added in 16 bits",
     [](const Config& c) { return c.partial_columns && shared::reads_output(c); }},
};

TEST(PlannedKernels, EachFactHoldsForSome) {
  const std::vector<Config> planned = planned_configs(), list = listed();
  for (const Fact& fact : kFacts) {
    EXPECT_TRUE(std::any_of(planned.begin(), planned.end(), fact.holds))
        << "the planner has none: " << fact.text;
    EXPECT_TRUE(std::any_of(list.begin(), list.end(), fact.holds)) << fact.text;
  }
}

}  // namespace
}  // namespace wgrad::test
