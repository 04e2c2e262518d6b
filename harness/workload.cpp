#include "harness/workload.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "bench/token_counts.hpp"
#include "harness/elements.hpp"
#include "harness/random_data.hpp"
#include "wgrad/codec.hpp"
#include "wgrad/quantize.hpp"

namespace wgrad::harness {
namespace {

constexpr std::uint8_t kScalePoison = 0xFF;  // NaN as e8m0 and as e4m3

template <typename T>
std::span<std::byte> bytes_of(std::vector<T>& data) {
  return std::as_writable_bytes(std::span(data));
}

/// (rows, tokens) numbers whose magnitude differs from block to block of 16 tokens.
std::vector<float> varied_source(std::int64_t rows, std::int64_t tokens, std::uint64_t seed,
                                 int threads) {
  std::vector<float> source(static_cast<std::size_t>(rows * tokens));
  fill_random(DType::kF32, bytes_of(source), seed, threads);
  const std::int64_t blocks = tokens / 16 + 1;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto block = static_cast<std::uint64_t>(r * blocks + t / 16);
      const int exponent = static_cast<int>(random_bits(seed + 1, block) % 5) - 2;
      float& value = source[static_cast<std::size_t>(r * tokens + t)];
      value = std::ldexp(value, exponent);
    }
  }
  return source;
}

/// One operand of FP8 rowwise or 1x128, K-major, and its float32 scale factors.
struct RowQuantized {
  std::vector<std::byte> elements;
  std::vector<std::byte> scales;
  std::int64_t scale_cols = 0;
  std::int64_t ld = 0;  ///< 0: ragged
};

/// Scale factors are the largest magnitude they cover divided by the largest element.
RowQuantized quantized_by_rows(const Problem& p, DType element, std::int64_t rows,
                               std::span<const std::int32_t> offsets,
                               const std::vector<float>& source) {
  const bool whole = scales_whole_rows(p);
  const bool ragged = p.input_order == InputOrder::kTensorRagged;
  const float largest = element == DType::kE4m3 ? 448.0F : 57344.0F;
  RowQuantized out;
  out.ld = ragged ? 0 : (p.tokens + 15) / 16 * 16;
  out.elements.resize(static_cast<std::size_t>(rows * (ragged ? p.tokens : out.ld)));
  std::int64_t columns = 0;
  const auto cols_of = [&](std::int64_t count) { return whole ? 1 : (count + 127) / 128; };
  for (std::size_t e = 0; e < offsets.size(); ++e)
    columns += cols_of(offsets[e] - (e == 0 ? 0 : offsets[e - 1]));
  out.scale_cols = columns;
  std::vector<float> scales(static_cast<std::size_t>(rows * columns));
  std::int64_t first_col = 0;
  for (std::size_t e = 0; e < offsets.size(); ++e) {
    const std::int64_t begin = e == 0 ? 0 : offsets[e - 1];
    const std::int64_t count = offsets[e] - begin;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = source.data() + row * p.tokens + begin;
      const std::int64_t base = ragged ? rows * begin + row * count : row * out.ld + begin;
      for (std::int64_t col = 0; col < cols_of(count); ++col) {
        const std::int64_t low = col * 128;
        const std::int64_t high = whole ? count : std::min(low + 128, count);
        float amax = 0;
        for (std::int64_t k = low; k < high; ++k) amax = std::max(amax, std::fabs(from[k]));
        const float scale = amax > 0 ? amax / largest : 1.0F;
        const std::int64_t at =
            whole ? static_cast<std::int64_t>(e) * rows + row : row * columns + first_col + col;
        scales[static_cast<std::size_t>(at)] = scale;
        for (std::int64_t k = low; k < high; ++k)
          out.elements[static_cast<std::size_t>(base + k)] =
              static_cast<std::byte>(encode(element, from[k] / scale));
      }
    }
    first_col += cols_of(count);
  }
  const auto view = std::as_bytes(std::span(scales));
  out.scales.assign(view.begin(), view.end());
  return out;
}

std::vector<std::byte> to_bytes(const std::vector<std::uint8_t>& data) {
  const auto view = std::as_bytes(std::span(data));
  return {view.begin(), view.end()};
}

}  // namespace

Workload::Workload(const Problem& problem, std::span<const std::int64_t> counts, std::uint64_t seed,
                   int threads, std::shared_ptr<Device> device)
    : problem_(problem),
      offsets_(bench::cumulative_ends(counts)),
      device_memory_(std::move(device)) {
  problem_.tokens = offsets_.empty() ? 0 : offsets_.back();
  host_.tokens = problem_.tokens;
  if (is_fp8_by_rows(problem_)) {
    make_quantized_by_rows(seed, threads);
  } else if (problem_.scales) {
    make_quantized(seed, threads);
  } else {
    make_inputs(seed, threads);
  }
  mirror_inputs();
  make_outputs(seed + 4, threads);
}

void* Workload::mirror(std::span<std::byte> host) {
  inputs_on_device_.emplace_back(device_memory_, host);
  return inputs_on_device_.back().address();
}

void Workload::make_inputs(std::uint64_t seed, int threads) {
  const std::int64_t size = bits(problem_.a_dtype) / 8;
  a_.resize(static_cast<std::size_t>(problem_.m * problem_.tokens * size));
  b_.resize(static_cast<std::size_t>(problem_.n * problem_.tokens * size));
  fill_random(problem_.a_dtype, a_, seed, threads);
  fill_random(problem_.b_dtype, b_, seed + 2, threads);
}

void Workload::make_quantized(std::uint64_t seed, int threads) {
  const Problem& p = problem_;
  const auto quantized = [&](std::int64_t rows, DType element, Major major, std::uint64_t from) {
    const std::vector<float> source = varied_source(rows, p.tokens, from, threads);
    return quantize_along_tokens(source, rows, p.tokens, p.tokens, 1, offsets_,
                                 {.format = *format_of(p),
                                  .element = element,
                                  .major = major,
                                  .input_order = p.input_order,
                                  .layout = p.scales->layout,
                                  .scale_padding = kScalePoison});
  };
  QuantizedOperand a = quantized(p.m, p.a_dtype, p.a_major, seed);
  QuantizedOperand b = quantized(p.n, p.b_dtype, p.b_major, seed + 2);
  a_ = to_bytes(a.elements);
  b_ = to_bytes(b.elements);
  sfa_ = to_bytes(a.scales);
  sfb_ = to_bytes(b.scales);
  host_.sfa_cols = a.scale_cols;
  host_.sfb_cols = b.scale_cols;
  global_a_ = std::move(a.global_scales);
  global_b_ = std::move(b.global_scales);
  make_global_scales();
}

void Workload::make_quantized_by_rows(std::uint64_t seed, int threads) {
  const Problem& p = problem_;
  const auto quantized = [&](std::int64_t rows, DType element, std::uint64_t from) {
    return quantized_by_rows(p, element, rows, offsets_,
                             varied_source(rows, p.tokens, from, threads));
  };
  RowQuantized a = quantized(p.m, p.a_dtype, seed);
  RowQuantized b = quantized(p.n, p.b_dtype, seed + 2);
  a_ = std::move(a.elements);
  b_ = std::move(b.elements);
  sfa_ = std::move(a.scales);
  sfb_ = std::move(b.scales);
  host_.a_ld = a.ld;
  host_.b_ld = b.ld;
  host_.sfa_cols = a.scale_cols;
  host_.sfb_cols = b.scale_cols;
  make_global_scales();
}

/// Where the quantiser made none.
void Workload::make_global_scales() {
  if (!problem_.scales->global_scale) return;
  const auto experts = static_cast<std::size_t>(problem_.experts);
  global_a_.resize(experts, 0.5F);
  global_b_.resize(experts, 2.0F);
}

void Workload::mirror_inputs() {
  device_ = host_;
  const auto place = [this](auto& data, auto& on_host, auto& on_device) {
    using Pointer = std::remove_reference_t<decltype(on_host)>;
    if (data.empty()) return;
    on_host = static_cast<Pointer>(static_cast<const void*>(data.data()));
    on_device = static_cast<Pointer>(static_cast<const void*>(mirror(bytes_of(data))));
  };
  place(offsets_, host_.offsets, device_.offsets);
  place(a_, host_.a, device_.a);
  place(b_, host_.b, device_.b);
  place(sfa_, host_.sfa, device_.sfa);
  place(sfb_, host_.sfb, device_.sfb);
  place(global_a_, host_.global_scale_a, device_.global_scale_a);
  place(global_b_, host_.global_scale_b, device_.global_scale_b);
}

void Workload::make_outputs(std::uint64_t seed, int threads) {
  const auto experts = static_cast<std::size_t>(problem_.experts);
  const bool dense = problem_.output_mode == OutputMode::kDense;
  const auto expert_bytes =
      static_cast<std::size_t>(problem_.m * problem_.n * bits(problem_.wgrad_dtype) / 8);
  output_seed_ = seed;
  outputs_.assign(dense ? 1 : experts, Array(expert_bytes * (dense ? experts : 1),
                                             std::byte{0xFF}));  // NaN in every output dtype
  for (std::size_t e = 0; problem_.accumulate && e < experts; ++e) {
    const std::span<std::byte> all(outputs_[dense ? 0 : e]);
    fill_random(problem_.wgrad_dtype, all.subspan(dense ? e * expert_bytes : 0, expert_bytes),
                output_seed_ + e, threads);
  }
  for (Array& output : outputs_) {
    outputs_on_device_.emplace_back(device_memory_, output);
    void* address = outputs_on_device_.back().address();
    if (dense) device_.wgrad = address;
    if (!dense) pointers_.push_back(reinterpret_cast<std::int64_t>(address));
  }
  if (!dense) {
    device_.wgrad_ptrs = static_cast<const std::int64_t*>(mirror(bytes_of(pointers_)));
  }
}

std::int64_t Workload::begin(std::int64_t expert) const {
  return expert == 0 ? 0 : offsets_[static_cast<std::size_t>(expert - 1)];
}

void Workload::fetch_outputs() {
  for (Mirror& output : outputs_on_device_) output.pull();
}

const std::byte* Workload::output(std::int64_t expert) const {
  if (problem_.output_mode == OutputMode::kDiscrete) {
    return outputs_[static_cast<std::size_t>(expert)].data();
  }
  return outputs_[0].data() + expert * problem_.m * problem_.n * bits(problem_.wgrad_dtype) / 8;
}

double Workload::initial(std::int64_t expert, std::int64_t i, std::int64_t j) const {
  const auto index = static_cast<std::uint64_t>(i * problem_.n + j);
  std::byte rounded[4];
  store(problem_.wgrad_dtype, rounded, 0,
        random_normal(output_seed_ + static_cast<std::uint64_t>(expert), index));
  return load(problem_.wgrad_dtype, rounded, 0);
}

}  // namespace wgrad::harness
