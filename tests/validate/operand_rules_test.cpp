#include "validate/operand_rules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <string>

#include "support/sentences.hpp"
#include "validate/problem_rules.hpp"

namespace wgrad {
namespace {

using Change = std::function<void(Problem&, Operands&)>;

alignas(64) std::array<std::uint8_t, 1024> storage;
constexpr std::array<std::int32_t, 2> kOffsets = {40, 100};
constexpr std::array<float, 2> kGlobal = {1, 1};
constexpr std::array<std::int64_t, 2> kPtrs = {16, 32};

/// An address below all of these.
void* output_memory() {
  return reinterpret_cast<void*>(std::uintptr_t{4096});
}

struct Call {
  Problem problem;
  Operands operands;
};

/// E 2, M 64, N 48, T 100, MN-major bf16; nothing here is ever read.
Call plain() {
  Call c;
  c.problem.experts = 2;
  c.problem.m = 64;
  c.problem.n = 48;
  c.problem.tokens = c.operands.tokens = 100;
  c.operands.a = c.operands.b = storage.data();
  c.operands.offsets = kOffsets.data();
  c.operands.wgrad = output_memory();
  return c;
}

Call nvfp4() {
  Call c = plain();
  c.problem.a_dtype = c.problem.b_dtype = DType::kE2m1;
  c.problem.a_major = c.problem.b_major = Major::kK;
  c.problem.scales = ScaleSpec{DType::kE4m3, 16, ScaleLayout::kSwizzled, true};
  c.operands.sfa = c.operands.sfb = storage.data();
  c.operands.sfa_cols = c.operands.sfb_cols = 8;
  c.operands.global_scale_a = c.operands.global_scale_b = kGlobal.data();
  return c;
}

std::string sentences(Call c, const Change& change, std::int64_t workspace_bytes = 1) {
  change(c.problem, c.operands);
  return test::sentences(validate::broken_rules(c.problem, c.operands, workspace_bytes));
}

std::string address(std::int64_t shift) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%p", static_cast<const void*>(storage.data() + shift));
  return text.data();
}

TEST(OperandRules, AcceptPlainOperands) {
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands&) {}), "");
  EXPECT_EQ(sentences(nvfp4(), [](Problem&, Operands&) {}), "");
}

TEST(OperandRules, NameTheMissingPointer) {
  const auto refuse = [](const Call& c, const char* field, const Change& change) {
    EXPECT_EQ(sentences(c, change), std::string(field) + " is null; it must be an address");
  };
  refuse(plain(), "a", [](Problem&, Operands& o) { o.a = nullptr; });
  refuse(plain(), "b", [](Problem&, Operands& o) { o.b = nullptr; });
  refuse(plain(), "offsets", [](Problem&, Operands& o) { o.offsets = nullptr; });
  refuse(plain(), "wgrad", [](Problem&, Operands& o) { o.wgrad = nullptr; });
  refuse(nvfp4(), "sfa", [](Problem&, Operands& o) { o.sfa = nullptr; });
  refuse(nvfp4(), "sfb", [](Problem&, Operands& o) { o.sfb = nullptr; });
  refuse(nvfp4(), "global_scale_a", [](Problem&, Operands& o) { o.global_scale_a = nullptr; });
  refuse(nvfp4(), "global_scale_b", [](Problem&, Operands& o) { o.global_scale_b = nullptr; });
  refuse(plain(), "wgrad_ptrs", [](Problem& p, Operands& o) {
    p.output_mode = OutputMode::kDiscrete;
    o.wgrad = nullptr;
  });
}

TEST(OperandRules, NameTheMisalignedPointer) {
  const auto refuse = [](const char* field, std::int64_t shift, int to, const Change& change) {
    EXPECT_EQ(sentences(plain(), change), std::string(field) + " is at address " + address(shift) +
                                              "; it must be aligned to " + std::to_string(to) +
                                              " bytes");
  };
  refuse("a", 8, 16, [](Problem&, Operands& o) { o.a = storage.data() + 8; });
  refuse("b", 2, 16, [](Problem&, Operands& o) { o.b = storage.data() + 2; });
  refuse("wgrad", 4, 16, [](Problem&, Operands& o) {
    o.wgrad = storage.data() + 4;
    o.a = o.b = output_memory();
  });
  refuse("offsets", 1, 4, [](Problem&, Operands& o) {
    o.offsets = reinterpret_cast<const std::int32_t*>(storage.data() + 1);
  });
  refuse("wgrad_ptrs", 4, 8, [](Problem& p, Operands& o) {
    p.output_mode = OutputMode::kDiscrete;
    o.wgrad = nullptr;
    o.wgrad_ptrs = reinterpret_cast<const std::int64_t*>(storage.data() + 4);
  });
}

TEST(OperandRules, RefuseArgumentsThatTheProblemDoesNotUse) {
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.sfa = storage.data(); }),
            "sfa is given; it must be absent: the 16-bit formats take no scale factors");
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.sfb = storage.data(); }),
            "sfb is given; it must be absent: the 16-bit formats take no scale factors");
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.global_scale_a = kGlobal.data(); }),
            "global_scale_a is given; it must be absent, as the problem declares none");
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.global_scale_b = kGlobal.data(); }),
            "global_scale_b is given; it must be absent, as the problem declares none");
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.wgrad_ptrs = kPtrs.data(); }),
            "wgrad_ptrs is given; it must be absent in the dense output mode");
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p, Operands& o) {
                        p.output_mode = OutputMode::kDiscrete;
                        o.wgrad_ptrs = kPtrs.data();
                      }),
            "wgrad is given; it must be absent in the discrete output mode");
}

TEST(OperandRules, RefuseTokenCountsOutOfRange) {
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.tokens = -1; }),
            "tokens is -1; it must be from 0 to 2147483647");
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.tokens = std::int64_t{1} << 31U; }),
            "tokens is 2147483648; it must be from 0 to 2147483647");
  EXPECT_EQ(sentences(nvfp4(), [](Problem&, Operands& o) { o.tokens = 101; }),
            "tokens is 101; it must be even: packed FP4 holds two tokens per byte");
}

TEST(OperandRules, RefuseLeadingDimensions) {
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.a_ld = 63; }),
            "a_ld is 63; it must be at least the contiguous extent 64");
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.b_ld = -48; }),
            "b_ld is -48; it must be at least the contiguous extent 48");
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.b_ld = 52; }),
            "b_ld is 52 elements (104 bytes); it must be a multiple of 16 bytes: pad "
            "the contiguous axis");
  EXPECT_EQ(sentences(plain(), [](Problem& p, Operands&) { p.a_major = Major::kK; }),
            "a_ld is 100 elements (200 bytes); it must be a multiple of 16 bytes: "
            "pad the contiguous axis")
      << "packed rows of 100 tokens";
  EXPECT_EQ(sentences(plain(),
                      [](Problem&, Operands& o) {
                        o.a_ld = std::numeric_limits<std::int64_t>::max() / 8 * 8;
                      }),
            "a_ld is 9223372036854775800; it must be at most 11529215046068469 for "
            "100 rows");
  EXPECT_EQ(sentences(nvfp4(), [](Problem&, Operands& o) { o.a_ld = 101; }),
            "a_ld is 101 elements; it must be even: packed FP4 rows are whole bytes");
}

TEST(OperandRules, AcceptTheLimitsThemselves) {
  EXPECT_EQ(sentences(plain(), [](Problem&, Operands& o) { o.tokens = validate::kMaxExtent; }), "");
  EXPECT_EQ(sentences(plain(),
                      [](Problem&, Operands& o) {
                        o.tokens = 64;
                        o.a_ld = validate::kMaxSpan / 64;
                      }),
            "");
  EXPECT_EQ(
      sentences(nvfp4(), [](Problem& p, Operands& o) { o.sfa_cols = validate::kMaxSpan / p.m; }),
      "");
}

TEST(OperandRules, IgnoreStridesThatMeanNothing) {
  const Change odd = [](Problem&, Operands& o) { o.a_ld = o.b_ld = 3; };
  EXPECT_EQ(sentences(plain(),
                      [&](Problem& p, Operands& o) {
                        p.input_order = InputOrder::kTensorRagged;
                        p.a_major = p.b_major = Major::kK;
                        odd(p, o);
                      }),
            "")
      << "ragged K-major rows have pitch k_e";
  EXPECT_EQ(sentences(plain(),
                      [&](Problem& p, Operands& o) {
                        odd(p, o);
                        o.tokens = 0;
                      }),
            "")
      << "no tokens, no strides";
  EXPECT_EQ(sentences(plain(),
                      [&](Problem& p, Operands& o) {
                        odd(p, o);
                        o.tokens = 1;
                      }),
            "")
      << "one row";
}

TEST(OperandRules, AcceptNullOperandsWithoutTokens) {
  EXPECT_EQ(sentences(nvfp4(),
                      [](Problem&, Operands& o) {
                        o.tokens = 0;
                        o.a = o.b = o.sfa = o.sfb = nullptr;
                        o.sfa_cols = o.sfb_cols = 0;
                      }),
            "");
  EXPECT_EQ(sentences(nvfp4(),
                      [](Problem&, Operands& o) {
                        o.sfa = o.sfb = nullptr;
                        o.sfa_cols = o.sfb_cols = 0;
                      }),
            "")
      << "tokens may all be slack: then there are no scale factors";
}

TEST(OperandRules, AskForNoScalesThatNobodyReads) {
  EXPECT_EQ(sentences(nvfp4(),
                      [](Problem&, Operands& o) {
                        o.tokens = 0;
                        o.sfa = o.sfb = nullptr;
                      }),
            "")
      << "no tokens, whatever the columns";
  EXPECT_EQ(sentences(nvfp4(),
                      [](Problem& p, Operands& o) {
                        p.scales->global_scale = false;
                        o.global_scale_a = o.global_scale_b = nullptr;
                      }),
            "");
}

TEST(OperandRules, RefuseScaleColumnsOutOfRange) {
  EXPECT_EQ(sentences(nvfp4(), [](Problem&, Operands& o) { o.sfa_cols = -4; }),
            "sfa is -4 columns wide; it must be from 0 to 18014398509481984 columns wide");
  EXPECT_EQ(sentences(nvfp4(),
                      [](Problem&, Operands& o) {
                        o.sfb_cols = std::numeric_limits<std::int64_t>::max();
                      }),
            "sfb is 9223372036854775807 columns wide; it must be from 0 to 24019198012642645 "
            "columns wide");
}

TEST(OperandRules, Fp8ByRowsHasRowsOfWholeUnitsAndScalesOfTheirOwnAlignment) {
  Call rowwise = nvfp4();
  rowwise.problem.a_dtype = rowwise.problem.b_dtype = DType::kE4m3;
  rowwise.problem.scales = ScaleSpec{DType::kF32, kAllTokens, ScaleLayout::kCompact};
  rowwise.operands.global_scale_a = rowwise.operands.global_scale_b = nullptr;
  rowwise.operands.sfa_cols = rowwise.operands.sfb_cols = rowwise.problem.experts;
  rowwise.operands.a_ld = rowwise.operands.b_ld = 112;
  const Change nothing = [](Problem&, Operands&) {};
  EXPECT_EQ(sentences(rowwise, nothing), "");
  EXPECT_EQ(sentences(rowwise, [](Problem&, Operands& o) { o.b_ld = 0; }),
            "b_ld is 100 elements (100 bytes); it must be a multiple of 16 bytes: pad the "
            "contiguous axis");
  EXPECT_EQ(sentences(rowwise,
                      [](Problem& p, Operands& o) {
                        p.input_order = InputOrder::kTensorRagged;
                        o.b_ld = 0;
                      }),
            "");
  EXPECT_EQ(sentences(rowwise, [](Problem& p, Operands& o) { o.sfb_cols = p.experts + 1; }),
            "sfb is for 3 experts; it must be for 2 experts: one scale factor a row and expert");
  const std::string text = sentences(
      rowwise, [](Problem&, Operands& o) { o.sfa = static_cast<const std::uint8_t*>(o.sfa) + 2; });
  EXPECT_NE(text.find("it must be aligned to 4 bytes"), std::string::npos) << text;
}

// The kernel reads its inputs while it writes.
TEST(OperandRules, RefuseAnOutputInTheMemoryOfAnInput) {
  // B takes 100 x 48 elements of two bytes, the output 2 x 64 x 48.
  const auto at = [](std::int64_t shift) {
    return [shift](Problem&, Operands& o) {
      o.a = reinterpret_cast<const void*>(std::uintptr_t{1} << 20);
      o.b = reinterpret_cast<const void*>(std::uintptr_t{1} << 30);
      o.wgrad =
          reinterpret_cast<void*>((std::uintptr_t{1} << 30) + static_cast<std::uintptr_t>(shift));
    };
  };
  const std::string refusal =
      "b is at address 0x40000000, in the memory of the output; it must be apart from what is "
      "written while it is read";
  EXPECT_EQ(sentences(plain(), at(0)), refusal);
  EXPECT_EQ(sentences(plain(), at(9600 - 16)), refusal);
  EXPECT_EQ(sentences(plain(), at(16 - 12288)), refusal);
  EXPECT_EQ(sentences(plain(), at(9600)), "");
  EXPECT_EQ(sentences(plain(), at(-12288)), "");
  EXPECT_NE(sentences(nvfp4(),
                      [](Problem&, Operands& o) {
                        o.wgrad = reinterpret_cast<void*>(
                            reinterpret_cast<std::uintptr_t>(o.global_scale_b) / 16 * 16);
                      })
                .find("global_scale_a is at address"),
            std::string::npos);
}

TEST(OperandRules, RefuseAShortWorkspace) {
  const Change short_one = [](Problem&, Operands& o) {
    o.workspace = storage.data();
    o.workspace_bytes = 255;
  };
  EXPECT_EQ(sentences(plain(), short_one, 256),
            "workspace is 255 bytes; it must be at least 256 bytes");
  EXPECT_EQ(sentences(plain(), short_one, 255), "");
}

TEST(OperandRules, AllocateNothingWhenNothingIsBroken) {
  const Call c = plain();
  EXPECT_EQ(validate::broken_rules(c.problem, c.operands, 1).capacity(), 0U);
}

}  // namespace
}  // namespace wgrad
