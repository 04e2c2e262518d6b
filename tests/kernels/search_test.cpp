#include "kernels/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/family.hpp"
#include "plan/hopper.hpp"
#include "support/planned/emulated_device.hpp"
#include "support/sentences.hpp"

namespace wgrad::kernels {
namespace {

Problem plain() {
  Problem p;
  p.experts = 4;
  p.m = 512;
  p.n = 1024;
  p.tokens = 4096;
  return p;
}

TEST(Families, EachHasANameOfItsOwnAndEveryFunction) {
  std::set<std::string_view> names;
  for (const KernelFamily* f : families()) {
    EXPECT_TRUE(names.insert(f->name).second) << f->name;
    EXPECT_FALSE(f->architectures.empty()) << f->name;
    EXPECT_TRUE(f->takes && f->limits && f->candidates && f->source && f->check_operands &&
                f->image && f->traced)
        << f->name;
  }
}

TEST(Search, RanksByClassThenCost) {
  const auto found = plans("cuda", plain(), hopper());
  ASSERT_GT(found.size(), 2U);
  for (const plan::Plan& plan : found) {
    EXPECT_EQ(plan.backend, "cuda");
    ASSERT_NE(plan.family, nullptr);
    EXPECT_FALSE(plan.summary.empty());
  }
  const auto offered = found.front().family->candidates(plain(), hopper());
  ASSERT_EQ(offered.size(), found.size());
  const auto best = std::find_if(offered.begin(), offered.end(), [&](const Candidate& c) {
    return c.config == found.front().config;
  });
  ASSERT_NE(best, offered.end());
  for (const Candidate& other : offered) {
    EXPECT_LE(std::pair(best->rank, best->cost), std::pair(other.rank, other.cost));
  }
}

TEST(Search, PlansAreValues) {
  EXPECT_EQ(plans("cuda", plain(), hopper()), plans("cuda", plain(), hopper()));
  const auto found = plans("cuda", plain(), hopper());
  EXPECT_NE(found[0], found[1]);
}

TEST(Search, NamesTheArchitecturesThatAreServed) {
  DeviceSpec device = hopper();
  device.arch = 80;
  EXPECT_TRUE(plans("cuda", plain(), device).empty());
  EXPECT_EQ(test::sentences(limits(plain(), device)),
            "compute capability is 8.0; it must be 9.0 (Hopper), 10.0 (Blackwell), 10.3 (Blackwell "
            "Ultra): SM 8.0 has no kernel yet");
}

/// The search knows of a family what its functions say.
TEST(Search, AFamilysLimitsAreTheSearchs) {
  Problem p = plain();
  p.n = std::int64_t{1} << 31U;
  p.n += 8;
  EXPECT_FALSE(limits(p, hopper()).empty());
  EXPECT_EQ(limits(p, hopper()), families().front()->limits(p, hopper()));
  EXPECT_TRUE(plans("cuda", p, hopper()).empty());
}

TEST(Search, AnEmulatedGpuOffersCompiledKernelsAlone) {
  const auto found = plans("emu", plain(), test::emulated_sm90());
  for (const plan::Plan& plan : found) {
    ASSERT_NE(plan.family->emulated(), nullptr);
  }
  EXPECT_LT(found.size(), plans("cuda", plain(), hopper()).size());
}

}  // namespace
}  // namespace wgrad::kernels
