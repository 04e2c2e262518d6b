#include "wgrad/explain.hpp"
#include "wgrad/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/targets.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::test {
namespace {

Problem plain() {
  Problem p;
  p.experts = 4;
  p.m = 64;
  p.n = 48;
  p.tokens = 100;
  return p;
}

/// 0: usable; 1: cannot run; 2: on request.
int rank(const Candidate& c) {
  return c.on_request ? 2 : c.reasons.empty() ? 0 : 1;
}

TEST(Explain, PutsUsableCandidatesFirstAndSaysWhyTheOthersAreNot) {
  const auto candidates = explain(plain(), host_spec()).candidates;
  ASSERT_FALSE(candidates.empty());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_EQ(candidates[i].plan.empty(), !candidates[i].reasons.empty());
    EXPECT_FALSE(candidates[i].backend.empty());
    if (i > 0) {
      EXPECT_LE(rank(candidates[i - 1]), rank(candidates[i]));
    }
  }
}

TEST(Explain, TheOracleIsLastAndOnRequest) {
  const auto candidates = explain(plain(), host_spec()).candidates;
  EXPECT_EQ(candidates.back().backend, "reference");
  EXPECT_TRUE(candidates.back().on_request);
  const auto asked = std::count_if(candidates.begin(), candidates.end(),
                                   [](const Candidate& c) { return c.on_request; });
  EXPECT_EQ(asked, 1) << "the emulated GPU computes on no CPU, so nobody needs to hear of it";
}

TEST(Explain, FirstCandidateIsWhatPrepareChooses) {
  if (!check_support(plain(), host_spec())) {  // a build without a CPU backend
    EXPECT_THROW(prepare(plain(), host_spec()), RuntimeError)
        << "the oracle is never chosen unasked";
    return;
  }
  const Candidate first = explain(plain(), host_spec()).candidates.front();
  const Executable chosen = prepare(plain(), host_spec());
  EXPECT_EQ(first.backend, chosen.backend());
  EXPECT_EQ(first.plan, chosen.plan());
}

TEST(Explain, ABrokenProblemHasItsReasonsAndNoCandidate) {
  Problem p = plain();
  p.n = 43;
  const Explanation explanation = explain(p, host_spec());
  ASSERT_EQ(explanation.candidates.size(), 1U);
  ASSERT_EQ(explanation.candidates[0].reasons.size(), 1U);
  EXPECT_EQ(explanation.candidates[0].reasons[0].rule, "row-alignment");
}

TEST(Explain, SaysThatTilingHasNoEffectOnACpu) {
  EXPECT_TRUE(explain(plain(), host_spec()).notes.empty());
  Problem p = plain();
  p.tiling = {128, 128, 2, 1};
  const auto notes = explain(p, host_spec()).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "mma_tiler_mn and cluster_shape_mn have no effect on a CPU");
}

}  // namespace
}  // namespace wgrad::test
