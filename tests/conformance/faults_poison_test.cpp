// Field faults B: rows beyond the last offset, padding rows, poisoned paddings, scale factors.
#include <gtest/gtest.h>

#include <cmath>

#include "support/field_faults.hpp"

namespace wgrad::test {
namespace {

const std::vector<const char*> kBlockScaled = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp8_e4m3_e5m2",
                                               "mxfp4", "nvfp4"};

/// Runs `c` with a clean and with a poisoned tail; both must give the same bits.
void expect_tail_ignored(const Target& target, Case c, Poison poison) {
  c.poison = Poison::kZero;
  const Result clean(target, c);
  c.poison = poison;
  const Result poisoned(target, c);
  ASSERT_TRUE(poisoned.same_cells(clean));
  ASSERT_TRUE(poisoned.finite());
  ASSERT_TRUE(poisoned.matches_oracle());
}

TEST_P(FieldFaults, F018_NanBehindTheLastOffsetIsNeverRead) {
  for (Case c : variants("bf16", 64, 40, std::vector<std::int64_t>(16, 47))) {
    c.slack = 274;
    expect_tail_ignored(GetParam(), c, Poison::kNan);
  }
  for (const std::int64_t slack : {1, 7, 8, 63, 64}) {
    for (const char* format : {"bf16", "fp16", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp4", "nvfp4"}) {
      if (!runs(format)) continue;
      for (Case c : variants(format, 32, 48, {30, 0, 35})) {
        c.slack = slack;
        if (!computes(c)) continue;
        expect_tail_ignored(GetParam(), c, Poison::kNan);
      }
    }
  }
}

TEST_P(FieldFaults, F019_UncoveredRowsAreIgnored) {
  for (Case c : variants("bf16", 64, 40, {256, 256, 0, 188})) {
    c.slack = 324;
    expect_tail_ignored(GetParam(), c, Poison::kInfinity);
  }
}

TEST_P(FieldFaults, F020_InfinityInTheTailLeavesGradientsFinite) {
  for (const char* format : {"bf16", "fp16", "mxfp8_e5m2"}) {
    if (!runs(format)) continue;
    for (Case c : variants(format, 32, 48, {100, 200})) {
      c.slack = 84;
      c.problem.wgrad_dtype = DType::kF32;
      if (!computes(c)) continue;  // the emulator lacks some fp16 majors
      expect_tail_ignored(GetParam(), c, Poison::kInfinity);
    }
  }
}

TEST_P(FieldFaults, F021_HalfOfTheSlotsBelongToOtherRanks) {
  for (Case c : variants("bf16", 4, 8, {3, 0, 1, 4})) {
    c.slack = 8;                                       // of 16 slots
    expect_tail_ignored(GetParam(), c, Poison::kNan);  // each run is two steps into dirty memory
  }
}

TEST_P(FieldFaults, F023_PadRowsInsideAGroupAreTokens) {
  // Any count is legal, so no group needs padding; a caller who pads anyway must pad with zeros.
  const Case exact = case_of("bf16", 40, 24, {100, 128, 5});
  ASSERT_TRUE(conforms(exact));
  const CaseData exact_data(exact);
  const auto pad = [&exact_data](double fill) {
    return [&exact_data, fill](LogicalData& padded) {
      const auto copy = [fill](LogicalOperand& to, const LogicalOperand& from) {
        for (std::size_t e = 0; e < 3; ++e) {
          for (std::int64_t row = 0; row < to.rows; ++row) {
            for (std::int64_t k = 0; k < 128; ++k) {
              const bool real = k < from.begins[e + 1] - from.begins[e];
              to.set(row, to.begins[e] + k, real ? from.value(row, e, k) : fill);
            }
          }
        }
      };
      copy(padded.a, exact_data.logical.a);
      copy(padded.b, exact_data.logical.b);
    };
  };
  Case padded = case_of("bf16", 40, 24, {128, 128, 128});
  padded.adjust = pad(0.0);
  ASSERT_TRUE(run(padded).same_cells(run(exact)));
  padded.adjust = pad(kNan);
  ASSERT_TRUE(std::isnan(run(padded).value(0, 3, 3))) << "NaN in a group's own rows must show";
  EXPECT_FALSE(std::isnan(run(padded).value(1, 3, 3))) << "and in that group only";
}

/// What the tokens next to the middle expert of three hold, in all rows of one operand or of both.
/// Every FP4 number is finite: there it is the scale factors of their blocks.
struct Neighbours {
  Poison poison;
  bool in_a;
  bool in_b;
};

void put_beside_the_middle(LogicalOperand& o, Poison poison) {
  for (std::int64_t row = 0; row < o.rows; ++row) {
    if (o.dtype == DType::kE2m1) {
      const std::uint8_t code = o.scale_dtype == DType::kE8m0 ? 0xFF : 0x7F;  // NaN
      o.scale_code(row, o.first_cols[1] - 1) = o.scale_code(row, o.first_cols[2]) = code;
      continue;
    }
    const auto code = static_cast<std::uint16_t>(poison_code(o.dtype, poison));
    o.code(row, o.begins[1] - 1) = o.code(row, o.begins[2]) = code;
  }
}

/// In every major and order: a token read too many shows even where the other operand's is zero.
TEST_P(FieldFaults, NothingOfTheNeighboursReachesAnExpert) {
  for (const NamedFormat& format : formats()) {
    if (!runs(format.name)) continue;
    for (const Case& clean : variants(format.name, 40, 24, {13, 30, 21})) {
      if (!computes(clean)) continue;
      const Result want = run(clean);
      for (const Neighbours& n : {Neighbours{Poison::kNan, true, false},
                                  {Poison::kNan, false, true},
                                  {Poison::kInfinity, true, false},
                                  {Poison::kInfinity, false, true},
                                  {Poison::kInfinity, true, true}}) {
        Case poisoned = clean;
        poisoned.adjust = [n](LogicalData& data) {
          if (n.in_a) put_beside_the_middle(data.a, n.poison);
          if (n.in_b) put_beside_the_middle(data.b, n.poison);
        };
        const Result got = run(poisoned);
        ASSERT_FALSE(std::isfinite(got.value(0, 0, 0))) << "the neighbours have it";
        ASSERT_FALSE(std::isfinite(got.value(2, 0, 0)));
        for (std::int64_t i = 0; i < 40; ++i) {
          for (std::int64_t j = 0; j < 24; ++j)
            ASSERT_EQ(got.code(1, i, j), want.code(1, i, j)) << i << ", " << j;
        }
      }
    }
  }
}

TEST_P(ScaledFieldFaults, F024_ScaleExtentFollowsTheOffsetsNotTheBuffer) {
  for (const char* format : kBlockScaled) {
    for (const std::vector<std::int64_t>& counts :
         {std::vector<std::int64_t>{256}, {254}, {96, 160}}) {
      for (const Case& tight : variants(format, 256, 136, counts)) {
        Case padded = tight;
        padded.slack = 512 - covered_tokens(padded);
        padded.scale_col_pad = 2;
        ASSERT_TRUE(run(padded).same_cells(run(tight)));
        ASSERT_TRUE(conforms(padded));
      }
    }
  }
}

TEST_P(ScaledFieldFaults, F026_ScalePaddingNeverReachesAResult) {
  for (const char* format : kBlockScaled) {
    for (Case c : variants(format, 72, 136, {96, 160, 2, 34})) {
      c.scale_padding = 0x00;
      const Result zeros = run(c);
      for (const int byte : {0xFF, 0x7F, 0xFE}) {
        c.scale_padding = static_cast<std::uint8_t>(byte);
        ASSERT_TRUE(run(c).same_cells(zeros));
      }
      ASSERT_TRUE(zeros.matches_oracle());
    }
  }
}

TEST_P(ScaledFieldFaults, F028_CompactScalesAreTakenOrTheirExtentNamed) {
  Case c = case_of("mxfp8_e4m3", 64, 64, {64});
  c.problem.scales->layout = ScaleLayout::kCompact;
  ASSERT_TRUE(conforms(c));
  c.problem.scales->layout = ScaleLayout::kSwizzled;
  const auto narrow = [](Operands& o) { o.sfa_cols = 2; };
  if (GetParam().device.kind == DeviceKind::kCpu) {
    EXPECT_EQ(refusal(c, narrow),
              "wgrad: sfa is 2 columns wide; it must be at least 4 columns wide for these offsets");
    return;
  }
  // The offsets are the device's: it tells, and reads nothing past the scale factors.
  const CaseData data(c);
  Instance instance(data, GetParam().memory);
  narrow(instance.operands());
  const Executable executable =
      prepare(problem(c), GetParam().device, {.backend = GetParam().backend});
  executable.run(instance.operands());
  instance.output();  // waits
  ASSERT_TRUE(executable.fault());
  EXPECT_EQ(executable.fault()->expert, 0);
}

TEST_P(ScaledFieldFaults, F029_EveryScaleOfAnAtomDiffers) {
  for (const char* format : kBlockScaled) {
    for (Case c : variants(format, 264, 136, {1024, 40, 600})) {
      c.data = DataKind::kOnes;
      c.problem.wgrad_dtype = DType::kF32;
      c.adjust = [](LogicalData& data) {
        for (LogicalOperand* o : {&data.a, &data.b}) {
          const int lowest = o->scale_dtype == DType::kE8m0 ? 120 : 0x28;
          for (std::int64_t row = 0; row < o->rows; ++row) {
            for (std::int64_t col = 0; col < o->cols(); ++col) {
              o->scale_code(row, col) = static_cast<std::uint8_t>((row + 3 * col) % 7 + lowest);
            }
          }
        }
      };
      ASSERT_TRUE(conforms(c));
    }
  }
}

/// One 32-token block an expert, A and B scaled by the given bytes, every element 1.
Case scale_bytes_case(const char* format, const std::vector<int>& a_bytes,
                      const std::vector<int>& b_bytes) {
  Case c;
  c.problem = problem_of(format_named(format), 8, 16);
  c.problem.wgrad_dtype = DType::kF32;
  c.counts.assign(a_bytes.size(), 32);
  c.data = DataKind::kOnes;
  c.adjust = [a_bytes, b_bytes](LogicalData& data) {
    for (std::size_t e = 0; e < a_bytes.size(); ++e) {
      for (std::int64_t row = 0; row < data.a.rows; ++row) {
        data.a.scale_code(row, data.a.first_cols[e]) = static_cast<std::uint8_t>(a_bytes[e]);
      }
      for (std::int64_t row = 0; row < data.b.rows; ++row) {
        data.b.scale_code(row, data.b.first_cols[e]) = static_cast<std::uint8_t>(b_bytes[e]);
      }
    }
  };
  return c;
}

TEST_P(ScaledFieldFaults, F030_EveryE8m0Byte) {
  // 2^(a-127) * 2^(b-127) = 1 wherever a + b = 254; byte 0 is 2^-127, not zero.
  std::vector<int> a;
  std::vector<int> b;
  for (int byte = 0; byte <= 254; ++byte) {
    a.push_back(byte);
    b.push_back(254 - byte);
  }
  for (const char* format : {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"}) {
    const Result result = run(scale_bytes_case(format, a, b));
    for (std::size_t e = 0; e < a.size(); ++e) {
      ASSERT_TRUE(result.all_cells(e, 0x42000000)) << "32, byte " << e;
    }
  }
}

TEST_P(ScaledFieldFaults, F030_ByteZeroScalesSmallElementsToo) {
  // 0.5 * 2^-127 and 1.5 * 2^-127 are subnormal floats; against 2^127 they are 0.5 and 1.5.
  for (const double element : {0.5, 1.5, 3.0}) {
    for (const char* format : {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"}) {
      Case c = scale_bytes_case(format, {0, 1, 254}, {254, 253, 0});
      c.adjust = [element, adjust = c.adjust](LogicalData& data) {
        adjust(data);
        for (LogicalOperand* o : {&data.a, &data.b}) {
          for (std::int64_t row = 0; row < o->rows; ++row) {
            for (std::int64_t t = 0; t < o->tokens(); ++t) o->set(row, t, element);
          }
        }
      };
      ASSERT_TRUE(conforms(c));
    }
  }
}

TEST_P(ScaledFieldFaults, F030_NanScaleMarksOnlyWhatItScales) {
  for (const char* format : kBlockScaled) {
    const bool nvfp4 = format_named(format).format == Format::kNvfp4;
    Case c = case_of(format, 40, 24, {64, 64, 96});
    c.problem.wgrad_dtype = DType::kF32;
    c.adjust = [nvfp4](LogicalData& data) {
      data.a.scale_code(5, data.a.first_cols[1]) = nvfp4 ? 0x7F : 0xFF;
      data.b.scale_code(7, data.b.first_cols[2] + 1) = 0xFF;
    };
    const Result result = run(c);
    for (std::size_t e = 0; e < 3; ++e) {
      for (std::int64_t i = 0; i < 40; ++i) {
        for (std::int64_t j = 0; j < 24; ++j) {
          const bool marked = (e == 1 && i == 5) || (e == 2 && j == 7);
          ASSERT_EQ(std::isnan(result.value(e, i, j)), marked)
              << format << " expert " << e << " row " << i << " column " << j;
        }
      }
    }
  }
}

TEST_P(ScaledFieldFaults, F031_ZeroExpertsStayZeroUnderAnyGlobalScale) {
  for (const double scale : {0.0, 1.0, kInf, kNan}) {
    for (const bool accumulate : {false, true}) {
      Case c = case_of("nvfp4", 40, 24, {64, 64, 0, 64});
      c.problem.wgrad_dtype = DType::kF32;
      c.problem.accumulate = accumulate;
      c.start_code = accumulate ? 0x40E00000 : 0x7FC00000;
      c.adjust = [scale](LogicalData& data) {
        for (std::int64_t row = 0; row < 40; ++row) {
          for (std::int64_t k = 0; k < 64; ++k) data.a.set(row, data.a.begins[1] + k, 0.0);
        }
        data.a.global_scales[1] = data.a.global_scales[2] = static_cast<float>(scale);
      };
      const Result result = run(c);
      ASSERT_TRUE(result.all_cells(1, accumulate ? 0x40E00000 : 0)) << "global scale " << scale;
      ASSERT_TRUE(result.all_cells(2, accumulate ? 0x40E00000 : 0)) << "global scale " << scale;
      ASSERT_TRUE(result.finite());
      ASSERT_TRUE(result.matches_oracle());
    }
  }
}

TEST_P(ScaledFieldFaults, F032_EachExpertHasItsOwnGlobalScales) {
  for (const char* format : {"nvfp4", "mxfp4", "mxfp8_e4m3"}) {
    for (const std::size_t experts : {std::size_t{1}, std::size_t{4}}) {
      for (Case c : variants(format, 40, 24, std::vector<std::int64_t>(experts, 48))) {
        c.problem.wgrad_dtype = DType::kF32;
        c.problem.scales->global_scale = true;
        c.adjust = [](LogicalData& data) {
          int exponent = -10;
          for (std::size_t e = 0; e < data.a.global_scales.size(); ++e) {
            data.a.global_scales[e] = std::ldexp(1.0F, exponent);
            data.b.global_scales[e] = std::ldexp(1.0F, 3 - exponent / 2);
            exponent += 20 / 3;
          }
        };
        ASSERT_TRUE(conforms(c));
      }
    }
  }
}

TEST_P(ScaledFieldFaults, F032_AMissingGlobalScaleIsRefusedByName) {
  Case c = case_of("nvfp4", 40, 24, {48});
  EXPECT_EQ(refusal(c, [](Operands& o) { o.global_scale_b = nullptr; }),
            "wgrad: global_scale_b is null; it must be an address");
  c.problem.scales->global_scale = false;
  EXPECT_EQ(refusal(c),
            "wgrad: global_scale is absent; it must be given for both operands, (E,) float32, in "
            "the NVFP4 format");
}

TEST_P(FieldFaults, F033_OffsetsOfAnyAlignmentAreRight) {
  const std::vector<std::vector<std::int64_t>> all_counts = {{840, 856, 864},  {832, 864, 864},
                                                             {832, 896, 832},  {768, 896, 896},
                                                             {768, 1024, 768}, {839, 857, 861}};
  for (const auto& counts : all_counts) {
    for (const DataKind kind : {DataKind::kIntegers, DataKind::kNormal}) {
      Case c = case_of("bf16", 64, 192, counts);
      c.slack = 2560 - covered_tokens(c);
      c.data = kind;
      c.problem.wgrad_dtype = DType::kF32;
      ASSERT_TRUE(conforms(c));
    }
  }
}

// Of group D: the operands' last bytes lie against an unmapped page.
TEST_P(FieldFaults, F055_NothingIsReadPastTheLastToken) {
  for (const auto& counts :
       std::vector<std::vector<std::int64_t>>{{128, 1}, {128, 63}, {1}, {64, 0, 1, 0}}) {
    for (const char* format : {"bf16", "fp16", "mxfp8_e4m3", "mxfp4", "nvfp4"}) {
      if (!runs(format)) continue;
      for (const Case& c : variants(format, 128, 136, counts)) ASSERT_TRUE(conforms(c));
    }
  }
}

WGRAD_FIELD_FAULTS_ON_EVERY_BACKEND();
WGRAD_SCALED_FIELD_FAULTS();

}  // namespace
}  // namespace wgrad::test
