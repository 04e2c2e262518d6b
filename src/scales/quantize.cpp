#include "wgrad/quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/environment.hpp"
#include "core/parallel.hpp"
#include "scales/block_quantizer.hpp"
#include "scales/offsets.hpp"
#include "scales/quantize_rules.hpp"
#include "scales/scale_blocks.hpp"
#include "wgrad/quantize/codes.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad {
namespace {

constexpr std::int64_t kTileRows = 32;  // of a gathered tile: a cache line of a token-major source
constexpr std::int64_t kMaxVec = 32;

struct Source : scales::SourceExtents {
  const float* data = nullptr;
};

/// Rows [row, row + rows) x tokens [token, token + tokens), gathered or scattered as a small tile.
struct TileExtent {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t token = 0;
  std::int64_t tokens = 0;
};

template <typename T>
using Tile = std::array<std::array<T, kMaxVec>, kTileRows>;

/// Element index (r, t) of the result: r * row_pitch + t * token_pitch + base.
struct Placement {
  std::int64_t base = 0;
  std::int64_t row_pitch = 0;
  std::int64_t token_pitch = 1;
};

void gather(const Source& s, const TileExtent& at, Tile<float>& tile) {
  const float* first = s.data + at.row * s.row_stride + at.token * s.token_stride;
  if (s.token_stride == 1) {
    for (std::int64_t r = 0; r < at.rows; ++r) {
      std::copy_n(first + r * s.row_stride, at.tokens, tile[r].begin());
    }
    return;
  }
  for (std::int64_t t = 0; t < at.tokens; ++t) {
    for (std::int64_t r = 0; r < at.rows; ++r) {
      tile[r][t] = first[r * s.row_stride + t * s.token_stride];
    }
  }
}

void scatter_bytes(const Tile<std::uint8_t>& tile, const TileExtent& at, const Placement& to,
                   std::uint8_t* elements) {
  std::uint8_t* first = elements + to.base + at.row * to.row_pitch + at.token * to.token_pitch;
  if (to.token_pitch == 1) {
    for (std::int64_t r = 0; r < at.rows; ++r) {
      std::copy_n(tile[r].begin(), at.tokens, first + r * to.row_pitch);
    }
    return;
  }
  for (std::int64_t t = 0; t < at.tokens; ++t) {
    for (std::int64_t r = 0; r < at.rows; ++r) {
      first[r * to.row_pitch + t * to.token_pitch] = tile[r][t];
    }
  }
}

/// Two tokens a byte, the even one in the low nibble; blocks begin at even tokens.
void scatter_nibbles(const Tile<std::uint8_t>& tile, const TileExtent& at, const Placement& to,
                     std::uint8_t* elements) {
  for (std::int64_t r = 0; r < at.rows; ++r) {
    std::uint8_t* row = elements + (to.base + (at.row + r) * to.row_pitch + at.token) / 2;
    for (std::int64_t t = 0; t < at.tokens; t += 2) {
      const unsigned high = t + 1 < at.tokens ? tile[r][t + 1] : 0U;
      row[t / 2] = static_cast<std::uint8_t>(tile[r][t] | high << 4U);
    }
  }
}

class Quantizer {
 public:
  Quantizer(const Source& source, std::span<const std::int32_t> offsets, const QuantizeSpec& spec)
      : source_(source),
        offsets_(offsets),
        format_(scales::block_format(spec)),
        spec_(spec),
        signs_(spec.hadamard_seed ? shared::hadamard_signs(*spec.hadamard_seed) : 0),
        threads_(source.rows * source.tokens < kMinParallel ? 1 : core::usable_threads()) {}

  QuantizedOperand run() {
    out_.scale_cols = scale_cols(offsets_, format_.vec_size, spec_.layout);
    out_.scales.assign(
        static_cast<std::size_t>(scale_bytes(source_.rows, out_.scale_cols, spec_.layout)),
        spec_.scale_padding);
    out_.elements.assign(
        static_cast<std::size_t>(source_.rows * source_.tokens * bits(format_.element) / 8), 0);
    blocks_ = scales::scale_blocks(offsets_,
                                   {source_.rows, out_.scale_cols, format_.vec_size, spec_.layout});
    if (spec_.format == Format::kNvfp4) find_global_scales();
    core::parallel_for(ceil_div(source_.rows, kTileRows), threads_,
                       [this](std::int64_t tile) { quantize_rows(tile * kTileRows); });
    return std::move(out_);
  }

 private:
  static constexpr std::int64_t kMinParallel = std::int64_t{1} << 18;

  std::int64_t begin(std::size_t e) const { return e == 0 ? 0 : offsets_[e - 1]; }

  /// Calls visit(extent, column) for each block of expert e within a row tile.
  template <typename Visit>
  void for_each_block(std::size_t e, std::int64_t row, Visit visit) const {
    TileExtent at{row, std::min(kTileRows, source_.rows - row), begin(e), 0};
    for (std::int64_t col = 0; at.token < offsets_[e]; at.token += at.tokens, ++col) {
      at.tokens = std::min<std::int64_t>(format_.vec_size, offsets_[e] - at.token);
      visit(at, col);
    }
  }

  /// The values to quantise: a whole block of 16 is transformed where that was asked for.
  void read(const TileExtent& at, Tile<float>& tile) const {
    gather(source_, at, tile);
    if (!spec_.hadamard_seed || at.tokens != format_.vec_size) return;
    for (std::int64_t r = 0; r < at.rows; ++r) shared::hadamard_block(tile[r].data(), signs_);
  }

  float expert_amax(std::size_t e) const {
    Tile<float> tile;
    float amax = 0;
    for (std::int64_t row = 0; row < source_.rows; row += kTileRows) {
      for_each_block(e, row, [&](const TileExtent& at, std::int64_t) {
        read(at, tile);
        for (std::int64_t r = 0; r < at.rows; ++r) {
          amax = std::max(amax, scales::block_range({tile[r].data(), extent(at)}).amax);
        }
      });
    }
    return amax;
  }

  void find_global_scales() {
    if (!spec_.global_scales.empty()) {
      out_.global_scales.assign(spec_.global_scales.begin(), spec_.global_scales.end());
      return;
    }
    out_.global_scales.resize(offsets_.size());
    core::parallel_for(static_cast<std::int64_t>(offsets_.size()), threads_, [this](auto e) {
      out_.global_scales[e] = scales::nvfp4_global_scale(expert_amax(e));
    });
  }

  void quantize_rows(std::int64_t row) {
    for (std::size_t e = 0; e < offsets_.size(); ++e) {
      const float global = out_.global_scales.empty() ? 1.0F : out_.global_scales[e];
      for_each_block(e, row, [&](const TileExtent& at, std::int64_t col) {
        quantize_tile(e, at, col, global);
      });
    }
  }

  void quantize_tile(std::size_t e, const TileExtent& at, std::int64_t col, float global) {
    Tile<float> values;
    Tile<std::uint8_t> codes;
    read(at, values);
    for (std::int64_t r = 0; r < at.rows; ++r) {
      const std::span<const float> block(values[r].data(), extent(at));
      const auto scale = scales::block_scale(format_, scales::block_range(block), global);
      out_.scales[blocks_[e].offset(at.row + r, col)] = scale.code;
      if (spec_.stochastic_seed && scale.inverse != 0) {
        encode_at_random(block, scale, at.row + r, at.token, codes[r].data());
      } else {
        scales::encode_block(format_.element, block, scale, codes[r].data());
      }
    }
    const auto scatter = format_.element == DType::kE2m1 ? scatter_nibbles : scatter_bytes;
    scatter(codes, at, placement(e), out_.elements.data());
  }

  void encode_at_random(std::span<const float> block, const scales::BlockScale& scale,
                        std::int64_t row, std::int64_t token, std::uint8_t* codes) const {
    shared::RandomWords bits{};
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i % 8 == 0)
        bits = shared::rounding_bits(*spec_.stochastic_seed, row,
                                     token + static_cast<std::int64_t>(i));
      codes[i] = static_cast<std::uint8_t>(shared::e2m1_random(
          scale.scaled(block[i]), shared::rounding_bits_of(bits, static_cast<shared::u32>(i % 8))));
    }
  }

  Placement placement(std::size_t e) const {
    if (spec_.major == Major::kMn) return {0, 1, source_.rows};
    if (spec_.input_order == InputOrder::kTensor2d) return {0, source_.tokens, 1};
    const std::int64_t count = offsets_[e] - begin(e);  // token indices below are absolute
    return {source_.rows * begin(e) - begin(e), count, 1};
  }

  static std::size_t extent(const TileExtent& at) { return static_cast<std::size_t>(at.tokens); }

  Source source_;
  std::span<const std::int32_t> offsets_;
  scales::BlockFormat format_;
  QuantizeSpec spec_;
  shared::u32 signs_;
  int threads_;
  std::vector<scales::ScaleBlock> blocks_;
  QuantizedOperand out_;
};

void check_length(std::size_t got, const Source& source) {
  scales::check_source(source);
  const std::int64_t need = scales::source_span(source);
  if (static_cast<std::int64_t>(got) >= need) return;
  scales::refuse_quantize(
      "source", fmt::format("{} elements long", got),
      fmt::format("at least {} elements long for its extents and strides", need));
}

void check_global_scales(std::size_t experts, const QuantizeSpec& spec) {
  if (spec.global_scales.empty() || spec.global_scales.size() == experts) return;
  scales::refuse_quantize("global_scales", fmt::format("{} long", spec.global_scales.size()),
                          fmt::format("{} long, one for each expert", experts));
}

}  // namespace

QuantizedOperand quantize_along_tokens(std::span<const float> source, std::int64_t rows,
                                       std::int64_t tokens, std::int64_t row_stride,
                                       std::int64_t token_stride,
                                       std::span<const std::int32_t> offsets,
                                       const QuantizeSpec& spec) {
  Source view{{rows, tokens, row_stride, token_stride}, source.data()};
  scales::check_quantize_spec(spec);
  check_length(source.size(), view);
  if (tokens == 0) view.rows = 0;  // they hold nothing, however many
  scales::check_offsets(offsets, tokens);
  scales::check_packed_tokens(tokens, spec);
  scales::check_packed_experts(offsets, spec);
  check_global_scales(offsets.size(), spec);
  return Quantizer(view, offsets, spec).run();
}

}  // namespace wgrad
