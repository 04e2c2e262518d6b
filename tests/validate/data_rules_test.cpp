#include "validate/data_rules.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/sentences.hpp"

namespace wgrad {
namespace {

Problem bf16() {
  Problem p;
  p.experts = 3;
  p.m = p.n = 64;
  return p;
}

constexpr std::int64_t kExpertBytes = 8192;    // of bf16()
constexpr std::int64_t kOperandB = 1LL << 30;  // where B lies

Problem mxfp4(InputOrder order) {
  Problem p = bf16();
  p.a_dtype = p.b_dtype = DType::kE2m1;
  p.a_major = p.b_major = Major::kK;
  p.input_order = order;
  p.scales = ScaleSpec{};
  return p;
}

struct Data {
  std::vector<std::int32_t> offsets;
  std::vector<std::int64_t> ptrs;
  std::int64_t tokens = 100;
  std::int64_t sfa_cols = 1000;
  std::int64_t sfb_cols = 1000;
};

std::string sentences(const Problem& p, const Data& data) {
  Operands o;
  o.tokens = data.tokens;
  o.b = reinterpret_cast<const void*>(kOperandB);
  o.sfa_cols = data.sfa_cols;
  o.sfb_cols = data.sfb_cols;
  return test::sentences(validate::broken_data_rules(p, o, data.offsets, data.ptrs));
}

TEST(DataRules, AcceptAnyRisingOffsets) {
  EXPECT_EQ(sentences(bf16(), {{0, 37, 100}, {}}), "");
  EXPECT_EQ(sentences(bf16(), {{0, 0, 0}, {}, 0}), "");
  EXPECT_EQ(sentences(bf16(), {{5, 5, 7}, {16, 16 + 2 * kExpertBytes, 16 + kExpertBytes}}), "");
}

TEST(DataRules, NameTheExpertWhoseOffsetDecreases) {
  EXPECT_EQ(sentences(bf16(), {{50, 40, 100}, {}}),
            "offsets[1] is 40; it must be at least 50, the end of the expert before it");
}

TEST(DataRules, NameTheExpertWhoseOffsetIsNegative) {
  EXPECT_EQ(sentences(bf16(), {{-1, 40, 100}, {}}),
            "offsets[0] is -1; it must be at least 0, the end of the expert before it");
}

TEST(DataRules, NameTheExpertWhoseOffsetExceedsTheTokens) {
  EXPECT_EQ(sentences(bf16(), {{50, 50, 101}, {}}),
            "offsets[2] is 101; it must be at most T = 100");
}

TEST(DataRules, TellNegativeOffsetsFromThoseThatDecrease) {
  Operands o;
  o.tokens = 100;
  const auto rule = [&](std::vector<std::int32_t> offsets) {
    return validate::broken_data_rules(bf16(), o, offsets, {}).at(0).rule;
  };
  EXPECT_EQ(rule({5, 0, 100}), "offset-decreases");
  EXPECT_EQ(rule({5, -1, 100}), "offset-negative");
  EXPECT_EQ(rule({5, 7, 101}), "offset-exceeds-tokens");
}

TEST(DataRules, ReportEveryBadOffset) {
  EXPECT_EQ(sentences(bf16(), {{200, 40, -3}, {}}),
            "offsets[0] is 200; it must be at most T = 100\n"
            "offsets[1] is 40; it must be at least 200, the end of the expert before it\n"
            "offsets[2] is -3; it must be at least 40, the end of the expert before it");
}

TEST(DataRules, NameTheBadOutputAddress) {
  EXPECT_EQ(sentences(bf16(), {{0, 0, 0}, {64, 0, 72}}),
            "wgrad_ptrs[1] is 0x0; it must be a non-null address aligned to 16 bytes\n"
            "wgrad_ptrs[2] is 0x48; it must be a non-null address aligned to 16 bytes");
}

TEST(DataRules, NameTheExpertsWhoseOutputsOverlap) {
  EXPECT_EQ(sentences(bf16(), {{0, 0, 0}, {65536, 16, 65536 + kExpertBytes - 16}}),
            "wgrad_ptrs[2] is 0x11ff0, within the output of expert 0 at 0x10000; it must be at "
            "least 8192 bytes from every other");
  EXPECT_EQ(sentences(bf16(), {{0, 0, 0}, {16, 16, 16}}),
            "wgrad_ptrs[1] is 0x10, within the output of expert 0 at 0x10; it must be at least "
            "8192 bytes from every other\n"
            "wgrad_ptrs[2] is 0x10, within the output of expert 1 at 0x10; it must be at least "
            "8192 bytes from every other");
}

TEST(DataRules, NameTheInputInTheMemoryOfAnExpertsOutput) {
  Problem p = bf16();
  p.output_mode = OutputMode::kDiscrete;
  EXPECT_EQ(sentences(p, {{0, 0, 0}, {65536, kOperandB + 16, 16}}),
            "b is at address 0x40000000, in the memory of the output of expert 1; it must be apart "
            "from what is written while it is read");
}

TEST(DataRules, PackedFp4ExpertsBeginAtEvenTokens) {
  EXPECT_EQ(sentences(mxfp4(InputOrder::kTensor2d), {{33, 64, 64}, {}}),
            "expert 1 is starting at token 33; it must be starting at an even token: packed FP4 "
            "holds two tokens per byte");
  EXPECT_EQ(sentences(mxfp4(InputOrder::kTensor2d), {{32, 65, 65}, {}}), "")
      << "an odd end is fine where nobody begins";
  EXPECT_EQ(sentences(mxfp4(InputOrder::kTensorRagged), {{32, 65, 65}, {}}),
            "expert 1 is 33 tokens long; it must be of an even count in ragged order: its rows are "
            "packed two tokens per byte");
}

TEST(DataRules, ScaleStorageHoldsEveryExpert) {
  const Data data = {{33, 40, 100}, {}, 100, 8, 11};
  Problem p = bf16();
  p.a_dtype = p.b_dtype = DType::kE4m3;
  p.scales = ScaleSpec{};
  EXPECT_EQ(sentences(p, data),
            "sfa is 8 columns wide; it must be at least 12 columns wide for these offsets\n"
            "sfb is 11 columns wide; it must be at least 12 columns wide for these offsets");
  p.scales->layout = ScaleLayout::kCompact;
  EXPECT_EQ(sentences(p, data), "") << "compact: 2 + 1 + 2 columns";
  EXPECT_EQ(sentences(p, {{33, 40, 100}, {}, 100, 4, 5}),
            "sfa is 4 columns wide; it must be at least 5 columns wide for these offsets");
}

}  // namespace
}  // namespace wgrad
