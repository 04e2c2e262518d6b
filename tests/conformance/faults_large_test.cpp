// Field faults F: element offsets past 2^31 and strides past 2^32 bytes, on a CPU and an emulated
// GPU, with few elements far apart in sparse memory.
// What needs that many elements for real (T of 262144 and more, ragged blocks past 2^31) is left to
// a GPU at full size.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>

#include "harness/random.hpp"
#include "scales/codec.hpp"
#include "support/field_faults.hpp"
#include "wgrad/reference.hpp"

namespace wgrad::test {
namespace {

constexpr std::int64_t kTwoTo31 = std::int64_t{1} << 31U;

/// Address space that costs memory only where it is touched; reads as zero bytes.
class SparseMemory {
 public:
  explicit SparseMemory(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::runtime_error("mmap failed");
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  ~SparseMemory() { munmap(data_, bytes_); }

  template <typename T>
  T* at(std::int64_t index) const {
    return static_cast<T*>(data_) + index;
  }
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// A small problem whose memory is spread over more than 2^31 elements.
struct Spread {
  Problem problem;
  Operands operands;
  std::vector<std::int32_t> offsets;
};

Spread spread(const NamedFormat& format, std::int64_t m, std::int64_t n,
              std::vector<std::int32_t> offsets) {
  Spread s;
  s.problem = problem_of(format, m, n);
  s.problem.experts = static_cast<std::int64_t>(offsets.size());
  s.problem.tokens = offsets.back();
  s.problem.wgrad_dtype = DType::kF32;
  s.offsets = std::move(offsets);
  s.operands.tokens = s.problem.tokens;
  s.operands.offsets = s.offsets.data();
  return s;
}

/// Small integers, so that sums are exact; never 0, so that a wrong address shows.
double value_at(std::int64_t row, std::int64_t t) {
  return static_cast<double>((row * 7 + t * 3) % 4 + 1);
}

template <typename T>
void put(const SparseMemory& memory, std::int64_t index, DType dtype, double value) {
  *memory.at<T>(index) = static_cast<T>(nearest_code(dtype, value));
}

double exact_cell(const Spread& s, std::int64_t e, std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t t = e == 0 ? 0 : s.offsets[e - 1]; t < s.offsets[e]; ++t) {
    sum += value_at(i, t) * value_at(j + 1, t);
  }
  return sum;
}

class LargeFaults : public FieldFaults {
 protected:
  void run(const Spread& s) const { prepared(GetParam(), s.problem)(s.operands); }

  /// Adds into zeros where the backend's list has no kernel that overwrites (the emulated GPU's);
  /// false where it has none at all.
  bool fit(Spread& s) const {
    if (has_kernel(GetParam(), s.problem)) return true;
    s.problem.accumulate = true;
    return has_kernel(GetParam(), s.problem);
  }
  static float start(const Spread& s) { return s.problem.accumulate ? 0.0F : NAN; }

  /// Expects every cell of a dense output to be exact.
  static void expect_exact(const Spread& s, const float* wgrad) {
    for (std::int64_t e = 0; e < s.problem.experts; ++e) {
      for (std::int64_t i = 0; i < s.problem.m; ++i) {
        for (std::int64_t j = 0; j < s.problem.n; ++j) {
          const float* cell = wgrad + e * expert_stride(s.problem) + i * row_pitch(s.problem) + j;
          ASSERT_EQ(*cell, exact_cell(s, e, i, j)) << "expert " << e << " row " << i;
        }
      }
    }
  }
};

/// A with a leading dimension past 2^31 / rows, in `major`; B small and MN-major. Nothing where
/// there is no kernel.
template <typename T>
void check_wide_a(const NamedFormat& format, Major major, const std::function<bool(Spread&)>& fit,
                  const std::function<void(const Spread&)>& run,
                  const std::function<void(const Spread&, const float*)>& judge) {
  constexpr std::int64_t kRows = 72;
  constexpr std::int64_t kTokens = 75;
  const std::int64_t strided = major == Major::kK ? kRows : kTokens;
  const std::int64_t ld = (kTwoTo31 / (strided - 1) + 4096) / 16 * 16;
  ASSERT_GT((strided - 1) * ld, kTwoTo31);
  Spread s = spread(format, kRows, 8, {30, 30, 74, 75});
  s.problem.a_major = major;
  s.problem.b_major = Major::kMn;
  if (!fit(s)) return;
  const SparseMemory a(strided * ld * static_cast<std::int64_t>(sizeof(T)));
  const SparseMemory b(kTokens * 8 * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      put<T>(a, major == Major::kK ? i * ld + t : t * ld + i, format.a, value_at(i, t));
    }
    for (std::int64_t j = 0; j < 8; ++j) put<T>(b, t * 8 + j, format.b, value_at(j + 1, t));
  }
  const Bytes ones(4096, 127);  // e8m0 scale factors of 1
  std::vector<float> wgrad(static_cast<std::size_t>(s.problem.experts * kRows * 8),
                           s.problem.accumulate ? 0.0F : NAN);
  s.operands.a = a.data();
  s.operands.b = b.data();
  s.operands.a_ld = ld;
  s.operands.wgrad = wgrad.data();
  if (s.problem.scales) {
    s.operands.sfa = s.operands.sfb = ones.data();
    s.operands.sfa_cols = s.operands.sfb_cols = 16;
  }
  run(s);
  judge(s, wgrad.data());
}

TEST_P(LargeFaults, F068_OperandOffsetsPast2To31) {
  const auto fit_it = [this](Spread& s) { return fit(s); };
  int runs = 0;
  const auto run_it = [&](const Spread& s) { run(s), ++runs; };
  const auto judge = [](const Spread& s, const float* w) { expect_exact(s, w); };
  for (const Major major : {Major::kK, Major::kMn}) {
    check_wide_a<std::uint16_t>(format_named("bf16"), major, fit_it, run_it, judge);
    check_wide_a<std::uint8_t>(format_named("mxfp8_e4m3"), major, fit_it, run_it, judge);
  }
  EXPECT_GE(runs, 2);
}

TEST_P(LargeFaults, F069_TheSecondOperandToo) {
  constexpr std::int64_t kTokens = 40;
  constexpr std::int64_t kLd = (kTwoTo31 / 39 + 4096) / 8 * 8;
  Spread s = spread(format_named("bf16"), 16, 24, {1, 39, 40});
  const SparseMemory a(kTokens * 16 * 2);
  const SparseMemory b(kTokens * kLd * 2);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t i = 0; i < 16; ++i) {
      put<std::uint16_t>(a, t * 16 + i, DType::kBf16, value_at(i, t));
    }
    for (std::int64_t j = 0; j < 24; ++j) {
      put<std::uint16_t>(b, t * kLd + j, DType::kBf16, value_at(j + 1, t));
    }
  }
  std::vector<float> wgrad(3 * 16 * 24, NAN);
  s.operands.a = a.data();
  s.operands.b = b.data();
  s.operands.b_ld = kLd;
  s.operands.wgrad = wgrad.data();
  run(s);
  expect_exact(s, wgrad.data());
}

TEST_P(LargeFaults, F069_CompactScalesPast2To31) {
  constexpr std::int64_t kRows = 40;
  constexpr std::int64_t kCols = kTwoTo31 / 39 + 4096;
  Spread s = spread(format_named("mxfp8_e4m3"), kRows, 8, {40, 75});
  s.problem.scales->layout = ScaleLayout::kCompact;
  s.problem.a_major = Major::kK;
  if (!fit(s)) {  // not among the kernels that are emulated
    ASSERT_EQ(GetParam().device.kind, DeviceKind::kEmulated);
    return;
  }
  const SparseMemory a(kRows * 75);
  const SparseMemory b(75 * 8);
  const SparseMemory sfa(kRows * kCols);
  const Bytes sfb(8 * 4, 127);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t t = 0; t < 75; ++t) {
      // Half the value here, scale factor 2 there.
      put<std::uint8_t>(a, i * 75 + t, DType::kE4m3, value_at(i, t) / 2);
    }
    std::memset(sfa.at<std::uint8_t>(i * kCols), 128, 4);
  }
  for (std::int64_t t = 0; t < 75; ++t) {
    for (std::int64_t j = 0; j < 8; ++j) {
      put<std::uint8_t>(b, t * 8 + j, DType::kE4m3, value_at(j + 1, t));
    }
  }
  std::vector<float> wgrad(2 * kRows * 8, start(s));
  s.operands.a = a.data();
  s.operands.b = b.data();
  s.operands.sfa = sfa.data();
  s.operands.sfb = sfb.data();
  s.operands.sfa_cols = kCols;
  s.operands.sfb_cols = 4;
  s.operands.wgrad = wgrad.data();
  run(s);
  expect_exact(s, wgrad.data());
}

/// bf16 operands of a spread whose output is what lies far apart.
class SmallInputs {
 public:
  explicit SmallInputs(Spread& s)
      : a_(s.operands.tokens * s.problem.m * 2), b_(s.operands.tokens * s.problem.n * 2) {
    for (std::int64_t t = 0; t < s.operands.tokens; ++t) {
      for (std::int64_t i = 0; i < s.problem.m; ++i) {
        put<std::uint16_t>(a_, t * s.problem.m + i, DType::kBf16, value_at(i, t));
      }
      for (std::int64_t j = 0; j < s.problem.n; ++j) {
        put<std::uint16_t>(b_, t * s.problem.n + j, DType::kBf16, value_at(j + 1, t));
      }
    }
    s.operands.a = a_.data();
    s.operands.b = b_.data();
  }

 private:
  SparseMemory a_;
  SparseMemory b_;
};

std::vector<std::int32_t> one_token_each(int experts) {
  std::vector<std::int32_t> offsets;
  for (int e = 1; e <= experts; ++e) offsets.push_back(e);
  return offsets;
}

TEST_P(LargeFaults, F071_ExpertStridesPast2To31) {
  // E = 256, H = 6144, I = 2048 as in the report, of which 8 x 8 cells an expert are computed.
  Spread s = spread(format_named("bf16"), 8, 8, one_token_each(256));
  s.problem.wgrad_row_pitch = 2048;
  s.problem.wgrad_expert_stride = std::int64_t{6144} * 2048;
  const SmallInputs inputs(s);
  const SparseMemory wgrad(256 * s.problem.wgrad_expert_stride * 4);
  s.operands.wgrad = wgrad.data();
  run(s);
  expect_exact(s, wgrad.at<float>(0));
}

TEST_P(LargeFaults, F071_RowPitchesPast2To31) {
  Spread s = spread(format_named("bf16"), 136, 8, {5});
  s.problem.wgrad_row_pitch = (kTwoTo31 / 135 + 4096) / 8 * 8;
  const SmallInputs inputs(s);
  const SparseMemory wgrad(136 * s.problem.wgrad_row_pitch * 4);
  s.operands.wgrad = wgrad.data();
  run(s);
  expect_exact(s, wgrad.at<float>(0));
}

TEST_P(LargeFaults, F071_DiscreteOutputsFarApart) {
  constexpr int kExperts = 9;
  Spread s = spread(format_named("bf16"), 8, 8, one_token_each(kExperts));
  s.problem.output_mode = OutputMode::kDiscrete;
  const SmallInputs inputs(s);
  constexpr std::int64_t kGap = kTwoTo31 + 4096;  // bytes
  const SparseMemory wgrad(kExperts * kGap);
  std::vector<std::int64_t> ptrs;
  for (std::int64_t e = 0; e < kExperts; ++e) {
    ptrs.push_back(
        reinterpret_cast<std::int64_t>(wgrad.at<std::uint8_t>((kExperts - 1 - e) * kGap)));
  }
  s.operands.wgrad_ptrs = ptrs.data();
  run(s);
  for (std::int64_t e = 0; e < kExperts; ++e) {
    const float* cells = wgrad.at<float>((kExperts - 1 - e) * kGap / 4);
    for (std::int64_t i = 0; i < 64; ++i) ASSERT_EQ(cells[i], exact_cell(s, e, i / 8, i % 8));
  }
}

/// bf16 operands whose rows lie `lds` apart, as the majors say.
class FarInputs {
 public:
  FarInputs(Spread& s, std::int64_t ld_a, std::int64_t ld_b)
      : a_(rows(s, s.problem.a_major, s.problem.m) * ld_a * 2),
        b_(rows(s, s.problem.b_major, s.problem.n) * ld_b * 2) {
    for (std::int64_t t = 0; t < s.operands.tokens; ++t) {
      for (std::int64_t i = 0; i < s.problem.m; ++i)
        put<std::uint16_t>(a_, s.problem.a_major == Major::kK ? i * ld_a + t : t * ld_a + i,
                           DType::kBf16, value_at(i, t));
      for (std::int64_t j = 0; j < s.problem.n; ++j)
        put<std::uint16_t>(b_, s.problem.b_major == Major::kK ? j * ld_b + t : t * ld_b + j,
                           DType::kBf16, value_at(j + 1, t));
    }
    s.operands.a = a_.data();
    s.operands.b = b_.data();
    s.operands.a_ld = ld_a;
    s.operands.b_ld = ld_b;
  }

 private:
  static std::int64_t rows(const Spread& s, Major major, std::int64_t extent) {
    return major == Major::kK ? extent : s.operands.tokens;
  }

  SparseMemory a_;
  SparseMemory b_;
};

TEST_P(LargeFaults, LeadingDimensionsPast2To32Bytes) {
  constexpr std::int64_t kFarA = kTwoTo31 + 64, kFarB = kTwoTo31 + 4096;  // elements
  for (const Major a : {Major::kK, Major::kMn}) {
    for (const Major b : {Major::kK, Major::kMn}) {
      Spread s = spread(format_named("bf16"), 40, 24, {3, 3, 21});
      s.problem.a_major = a;
      s.problem.b_major = b;
      ASSERT_TRUE(fit(s));
      const FarInputs inputs(s, kFarA, kFarB);
      std::vector<float> wgrad(3 * 40 * 24, start(s));
      s.operands.wgrad = wgrad.data();
      run(s);
      expect_exact(s, wgrad.data());
    }
  }
}

TEST_P(LargeFaults, RowPitchesAndExpertStridesPast2To32Bytes) {
  for (const bool accumulate : {false, true}) {
    Spread s = spread(format_named("bf16"), 24, 40, {9, 9, 14});
    s.problem.accumulate = accumulate;
    s.problem.wgrad_row_pitch = kTwoTo31 / 2 + 64;
    s.problem.wgrad_expert_stride = 24 * s.problem.wgrad_row_pitch + 4096;
    ASSERT_TRUE(has_kernel(GetParam(), s.problem));
    const SmallInputs inputs(s);
    const SparseMemory wgrad(3 * s.problem.wgrad_expert_stride * 4);
    s.operands.wgrad = wgrad.data();
    run(s);
    expect_exact(s, wgrad.at<float>(0));
  }
}

std::vector<Target> host_targets() {
  std::vector<Target> hosts;
  for (const Target& target : targets()) {
    if (target.memory->is_host()) hosts.push_back(target);
  }
  return hosts;
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeFaults, testing::ValuesIn(host_targets()),
                         [](const auto& param) { return target_name(param.param); });

}  // namespace
}  // namespace wgrad::test
