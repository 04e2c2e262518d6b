// The kernels that quantise, on the emulated machine by way of the driver's path, against the CPU's
// quantiser bit for bit.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "quantize/emulated_configs.hpp"
#include "quantize/emulated_quantizer.hpp"
#include "scales/codec.hpp"
#include "support/refusal.hpp"
#include "wgrad/codec.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::quantize {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint8_t kPoison = 0xA5;

DType dtype_of(SourceType type) {
  return type == SourceType::kBf16   ? DType::kBf16
         : type == SourceType::kFp16 ? DType::kF16
                                     : DType::kF32;
}

QuantizeSpec spec_of(const QuantizeConfig& c) {
  QuantizeSpec spec;
  const bool fp4 = c.element == ElementType::kE2m1;
  spec.format = !fp4                          ? Format::kMxfp8
                : c.scale == ScaleType::kE8m0 ? Format::kMxfp4
                                              : Format::kNvfp4;
  spec.element = fp4 ? DType::kE2m1 : c.element == ElementType::kE4m3 ? DType::kE4m3 : DType::kE5m2;
  spec.major = c.mn_major ? Major::kMn : Major::kK;
  return spec;
}

/// One (rows, tokens) matrix in a source's dtype, and the same as floats.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t token_stride = 0;
  std::vector<float> values;         ///< by the strides
  std::vector<std::uint32_t> words;  ///< the source's bytes, on 4
  std::size_t bytes = 0;
};

class Case {
 public:
  Case(const QuantizeConfig& config, unsigned seed) : random_(seed), config_(config) {
    spec_ = spec_of(config);
    make_experts();
    make_options();
    const int operands = below(3) == 0 ? 2 : 1;
    for (int i = 0; i < operands; ++i) matrices_.push_back(matrix());
  }

  void check(EmulatedQuantizer& machine) {
    make_targets();
    const DeviceQuantization call = this->call();
    std::vector<EmulatedQuantizer::Region> memory = regions();
    ASSERT_NO_THROW(machine.run(call, memory)) << text();
    for (std::size_t i = 0; i < matrices_.size(); ++i) check_operand(i);
  }

  std::string text() const {
    std::vector<std::int64_t> rows;
    for (const Matrix& m : matrices_) rows.push_back(m.rows);
    return fmt::format("{}rows {}, tokens {}, offsets {}, ragged {}, compact {}",
                       source({Stage::kCodes, config_}).text, rows, tokens_, offsets_,
                       spec_.input_order == InputOrder::kTensorRagged,
                       spec_.layout == ScaleLayout::kCompact);
  }

 private:
  struct Target {
    Bytes elements, given, globals;
    std::vector<std::max_align_t> scale_room;
    std::size_t scale_bytes = 0;

    std::uint8_t* scales() { return reinterpret_cast<std::uint8_t*>(scale_room.data()); }
  };

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  bool is_packed() const { return spec_.element == DType::kE2m1; }
  int vec_size() const { return spec_.format == Format::kNvfp4 ? 16 : 32; }

  void make_experts() {
    spec_.input_order = below(3) == 0 ? InputOrder::kTensorRagged : InputOrder::kTensor2d;
    const bool aligned = below(3) == 0;  // all the way to whole stores
    const int unit = aligned ? 32 : is_packed() ? 2 : 1;
    std::int32_t end = 0;
    const int experts = 1 + below(6);
    for (int e = 0; e < experts; ++e) {
      if (below(4) != 0) end += unit * below(aligned ? 4 : 90 / unit);
      offsets_.push_back(end);
    }
    tokens_ = end + unit * below(aligned ? 3 : 70 / unit);
    // The last of FP4's experts may end in the middle of a byte.
    const std::int32_t before = offsets_.size() > 1 ? offsets_[offsets_.size() - 2] : 0;
    if (is_packed() && spec_.input_order == InputOrder::kTensor2d && end > before && below(3) == 0)
      --offsets_.back();
    if (is_packed()) tokens_ += tokens_ % 2;
    if (below(12) == 0) {  // nothing at all
      std::fill(offsets_.begin(), offsets_.end(), 0);
      tokens_ = 0;
    }
  }

  void make_options() {
    spec_.layout = below(2) == 0 ? ScaleLayout::kSwizzled : ScaleLayout::kCompact;
    spec_.scale_padding = static_cast<std::uint8_t>(random_());
    if (spec_.format != Format::kNvfp4)
      spec_.scaling_mode = below(2) == 0 ? ScalingMode::kFloor : ScalingMode::kRceil;
    if (config_.stochastic) spec_.stochastic_seed = random_() * std::uint64_t{0x100000001};
    if (config_.hadamard) spec_.hadamard_seed = random_();
    if (spec_.format == Format::kNvfp4 && below(3) == 0) {
      for (std::size_t e = 0; e < offsets_.size(); ++e)
        given_.push_back(std::ldexp(1.0F + static_cast<float>(below(100)) / 100,
                                    below(4) == 0 ? below(270) - 145 : below(20) - 10));
      if (below(3) == 0) given_[0] = below(2) == 0 ? 0 : std::numeric_limits<float>::quiet_NaN();
    }
  }

  Matrix matrix() {
    Matrix m;
    m.rows = below(8) == 0 ? 0 : 1 + below(150);
    if (config_.order == SourceOrder::kRowPairs) {
      m.rows += m.rows % 2;
      m.row_stride = 1;
      m.token_stride = m.rows + 2 * below(3);
    } else if (config_.order == SourceOrder::kTokens) {
      m.rows |= 1;
      m.row_stride = below(2) == 0 ? (tokens_ + 7) / 8 * 8 : tokens_ + below(5);
      m.token_stride = 1;
    } else {
      m.rows |= 1;
      m.row_stride = 2;
      m.token_stride = 2 * m.rows + 1;
    }
    fill(m);
    return m;
  }

  float draw() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const int kind = below(400);
    if (kind == 0) return kInfinity;
    if (kind == 1) return std::numeric_limits<float>::quiet_NaN();
    if (kind < 20) return -0.0F;
    if (kind < 60) return std::ldexp(static_cast<float>(below(32) - 16), below(8) - 4);  // ties
    const float x = static_cast<float>(static_cast<int>(random_())) * 0x1p-31F;
    return std::ldexp(x, kind < 80 && scale_ < 60 ? below(250) - 140 : below(6) - scale_);
  }

  void fill(Matrix& m) {
    const std::int64_t last = m.rows == 0 || tokens_ == 0 ? 0
                                                          : (m.rows - 1) * m.row_stride +
                                                                (tokens_ - 1) * m.token_stride + 1;
    const DType dtype = dtype_of(config_.source);
    m.values.resize(static_cast<std::size_t>(last));
    m.bytes = m.values.size() * static_cast<std::size_t>(bits(dtype) / 8);
    m.words.resize(m.bytes / 4 + 1);
    scale_ = below(6) == 0 ? 60 + below(80) : below(40);
    for (std::size_t i = 0; i < m.values.size(); ++i) {
      const std::uint32_t code = encode(dtype, below(500) < 400 || i % 97 < 60 ? draw() : 0.0F);
      m.values[i] = static_cast<float>(decode(dtype, code));
      std::memcpy(reinterpret_cast<std::uint8_t*>(m.words.data()) +
                      i * static_cast<std::size_t>(bits(dtype) / 8),
                  &code, static_cast<std::size_t>(bits(dtype) / 8));
    }
  }

  void make_targets() {
    scale_cols_ = device_scale_cols(tokens_, static_cast<std::int64_t>(offsets_.size()), vec_size(),
                                    spec_.layout) +
                  4 * below(3);
    workspace_.assign(static_cast<std::size_t>(
                          quantize_workspace_bytes(static_cast<std::int64_t>(offsets_.size()))) /
                              sizeof(std::max_align_t) +
                          1,
                      {});
    std::memset(workspace_.data(), kPoison, workspace_.size() * sizeof(std::max_align_t));
    for (const Matrix& m : matrices_) {
      Target t;
      t.elements.assign(static_cast<std::size_t>(m.rows * tokens_ * bits(spec_.element) / 8),
                        kPoison);
      t.scale_bytes =
          static_cast<std::size_t>(wgrad::scale_bytes(m.rows, scale_cols_, spec_.layout));
      t.scale_room.resize(t.scale_bytes / sizeof(std::max_align_t) + 1);
      std::memset(t.scale_room.data(), kPoison, t.scale_bytes);
      t.globals.assign(offsets_.size() * 4, kPoison);
      targets_.push_back(std::move(t));
    }
  }

  DeviceQuantization call() {
    DeviceQuantization call;
    call.spec = spec_;
    call.source_dtype = dtype_of(config_.source);
    call.tokens = tokens_;
    call.experts = static_cast<std::int64_t>(offsets_.size());
    call.offsets = offsets_.data();
    call.scale_cols = scale_cols_;
    call.workspace = workspace_.data();
    call.device = 0;
    const bool nvfp4 = spec_.format == Format::kNvfp4;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const Matrix& m = matrices_[i];
      operands_.push_back({m.words.data(), m.rows, m.row_stride, m.token_stride,
                           targets_[i].elements.data(), targets_[i].scales(),
                           given_.empty() ? nullptr : given_.data(),
                           nvfp4 ? reinterpret_cast<float*>(targets_[i].globals.data()) : nullptr});
      EXPECT_TRUE(m.rows == 0 || tokens_ == 0 || config(call, operands_.back()) == config_)
          << "the case is of another kernel\n"
          << text();
    }
    call.operands = operands_;
    return call;
  }

  std::vector<EmulatedQuantizer::Region> regions() {
    std::vector<EmulatedQuantizer::Region> out = {
        {"offsets", offsets_.data(), offsets_.size() * 4, false},
        {"workspace", workspace_.data(),
         static_cast<std::size_t>(
             quantize_workspace_bytes(static_cast<std::int64_t>(offsets_.size()))),
         true},
        {"given", given_.data(), given_.size() * 4, false}};
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      Target& t = targets_[i];
      out.push_back({"source", matrices_[i].words.data(), matrices_[i].bytes, false});
      out.push_back({"elements", t.elements.data(), t.elements.size(), true});
      out.push_back({"scales", t.scales(), t.scale_bytes, true});
      out.push_back({"global scales", t.globals.data(), t.globals.size(), true});
    }
    return out;
  }

  /// The CPU's scales in a tensor of scale_cols_ columns.
  Bytes widened(const QuantizedOperand& q, const Matrix& m, std::size_t bytes) const {
    Bytes out(bytes, spec_.scale_padding);
    if (spec_.layout == ScaleLayout::kSwizzled || m.rows == 0 || tokens_ == 0) {
      std::copy(q.scales.begin(), q.scales.end(), out.begin());
      return out;
    }
    for (std::int64_t row = 0; row < m.rows; ++row)
      std::copy_n(q.scales.begin() + row * q.scale_cols, q.scale_cols,
                  out.begin() + row * scale_cols_);
    return out;
  }

  void check_operand(std::size_t i) {
    const Matrix& m = matrices_[i];
    QuantizeSpec spec = spec_;
    spec.global_scales = given_;
    if (spec.stochastic_seed) *spec.stochastic_seed += i;
    const QuantizedOperand q = quantize_along_tokens(m.values, m.rows, tokens_, m.row_stride,
                                                     m.token_stride, offsets_, spec);
    Target& t = targets_[i];
    expect_same("element", t.elements.data(), q.elements);
    expect_same("scale", t.scales(), widened(q, m, t.scale_bytes));
    if (spec_.format != Format::kNvfp4) return;
    Bytes globals(q.global_scales.size() * 4);
    std::memcpy(globals.data(), q.global_scales.data(), globals.size());
    expect_same("global scale", t.globals.data(), globals);
  }

  void expect_same(const char* what, const std::uint8_t* got, const Bytes& want) const {
    for (std::size_t at = 0; at < want.size(); ++at) {
      ASSERT_EQ(int{got[at]}, int{want[at]}) << what << " byte " << at << "\n" << text();
    }
  }

  std::mt19937 random_;
  QuantizeConfig config_;
  QuantizeSpec spec_;
  std::vector<std::int32_t> offsets_;
  std::int64_t tokens_ = 0;
  std::int64_t scale_cols_ = 0;
  int scale_ = 0;
  std::vector<float> given_;
  std::vector<Matrix> matrices_;
  std::vector<Target> targets_;
  std::vector<std::max_align_t> workspace_;
  std::vector<DeviceQuantizeOperand> operands_;
};

class DeviceQuantize : public testing::TestWithParam<std::size_t> {};

TEST_P(DeviceQuantize, EqualsTheCpu) {
  for (unsigned seed = 0; seed < 12 && !HasFatalFailure(); ++seed) {
    EmulatedQuantizer machine(seed + 1);
    Case(kCodeConfigs[GetParam()], 1000 * static_cast<unsigned>(GetParam()) + seed).check(machine);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, DeviceQuantize,
                         testing::Range(std::size_t{0}, kCodeConfigs.size()));

/// Two rows in MXFP8, or FP4, with whatever offsets; guards around all outputs.
std::optional<DeviceFault> fault_of(std::vector<std::int32_t> offsets,
                                    const QuantizeConfig& config) {
  constexpr std::int64_t kTokens = 64, kRows = 2;
  const std::vector<std::uint32_t> source(kTokens * kRows / 2);
  const auto experts = static_cast<std::int64_t>(offsets.size());
  DeviceQuantization call;
  call.spec = spec_of(config);
  call.spec.layout = ScaleLayout::kCompact;
  call.tokens = kTokens;
  call.experts = experts;
  call.offsets = offsets.data();
  call.scale_cols = device_scale_cols(kTokens, experts, 32, ScaleLayout::kCompact);
  call.device = 0;
  Bytes elements(static_cast<std::size_t>(kTokens * kRows * bits(call.spec.element) / 8));
  Bytes scales(static_cast<std::size_t>(kRows * call.scale_cols));
  std::vector<std::max_align_t> workspace(
      static_cast<std::size_t>(quantize_workspace_bytes(experts)) / sizeof(std::max_align_t) + 1);
  call.workspace = workspace.data();
  const DeviceQuantizeOperand operand{source.data(),   kRows,         1,       kRows,
                                      elements.data(), scales.data(), nullptr, nullptr};
  call.operands = std::span(&operand, 1);
  EmulatedQuantizer machine;
  machine.run(call, {{"offsets", offsets.data(), offsets.size() * 4, false},
                     {"workspace", workspace.data(),
                      static_cast<std::size_t>(quantize_workspace_bytes(experts)), true},
                     {"source", source.data(), source.size() * 4, false},
                     {"elements", elements.data(), elements.size(), true},
                     {"scales", scales.data(), scales.size(), true}});
  std::optional<DeviceFault> fault = machine.quantizer().fault();
  machine.quantizer().clear_fault();
  EXPECT_FALSE(machine.quantizer().fault());
  return fault;
}

TEST(DeviceOffsets, FaultsAreToldAndTouchNothingForeign) {
  const QuantizeConfig fp8 = kCodeConfigs[0], fp4 = kCodeConfigs[5];
  constexpr std::int32_t kHuge = std::numeric_limits<std::int32_t>::max();
  EXPECT_FALSE(fault_of({5, 5, 63}, fp8));
  const auto expect = [](const std::optional<DeviceFault>& fault, const std::string& what,
                         std::int64_t expert, std::int64_t value) {
    ASSERT_TRUE(fault) << what;
    EXPECT_EQ(fault->what, what);
    EXPECT_EQ(fault->expert, expert);
    EXPECT_EQ(fault->value, value);
  };
  expect(fault_of({20, 10, 64}, fp8), "offsets decrease", 1, 10);
  expect(fault_of({-7, 10, 64}, fp8), "offset is negative", 0, -7);
  expect(fault_of({20, 65, 65}, fp8), "offset exceeds tokens", 1, 65);
  EXPECT_TRUE(fault_of({kHuge, -kHuge, kHuge, -kHuge, kHuge, 3}, fp8));
  expect(fault_of({21, 40, 64}, fp4), "packed FP4 expert begins at an odd token", 1, 21);
  EXPECT_FALSE(fault_of({20, 40, 63}, fp4));
}

}  // namespace
}  // namespace wgrad::quantize
