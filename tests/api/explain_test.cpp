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

TEST(Explain, PutsUsableCandidatesFirstAndSaysWhyTheOthersAreNot) {
  const Explanation explanation = explain(plain(), host_spec());
  ASSERT_FALSE(explanation.candidates.empty());
  const auto unusable = std::find_if(explanation.candidates.begin(), explanation.candidates.end(),
                                     [](const Candidate& c) { return !c.reasons.empty(); });
  EXPECT_NE(unusable, explanation.candidates.begin());
  for (auto c = explanation.candidates.begin(); c != explanation.candidates.end(); ++c) {
    EXPECT_EQ(c->reasons.empty(), c < unusable);
    EXPECT_EQ(c->plan.empty(), !c->reasons.empty());
    EXPECT_FALSE(c->backend.empty());
  }
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
