#include "harness/cases/images.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "harness/random.hpp"
#include "wgrad/codec.hpp"

namespace wgrad::harness {
namespace {

constexpr std::uint8_t kCanary = 0xA5;
constexpr std::int64_t kGuardBytes = 64;

std::int64_t up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Elements as they lie in memory, one code each; packed at the end.
class Canvas {
 public:
  Canvas(DType dtype, std::int64_t elements, std::uint32_t fill)
      : dtype_(dtype),
        codes_(static_cast<std::size_t>(elements), static_cast<std::uint16_t>(fill)) {}

  void put(std::int64_t index, std::uint16_t code) { codes_.at(index) = code; }

  Bytes packed() const {
    Bytes bytes;
    if (dtype_ == DType::kE2m1) {
      for (std::size_t i = 0; i < codes_.size(); i += 2) {
        const unsigned high = i + 1 < codes_.size() ? codes_[i + 1] : 0;
        bytes.push_back(static_cast<std::uint8_t>(codes_[i] | high << 4U));
      }
    } else if (bits(dtype_) == 8) {
      for (const std::uint16_t code : codes_) bytes.push_back(static_cast<std::uint8_t>(code));
    } else {
      bytes.resize(codes_.size() * 2);
      if (!codes_.empty()) std::memcpy(bytes.data(), codes_.data(), bytes.size());
    }
    return bytes;
  }

 private:
  DType dtype_;
  std::vector<std::uint16_t> codes_;
};

/// Leading dimension: rows of 16-bit elements, and those of FP8 rowwise and 1x128, are whole
/// 16-byte units, others as dense as they may be.
std::int64_t leading_dimension(const Problem& p, DType dtype, std::int64_t width,
                               std::int64_t pad) {
  const std::int64_t unit = 128 / bits(dtype);
  const bool whole_units = bits(dtype) == 16 || is_fp8_by_rows(p);
  return (whole_units ? up(width, unit) : width) + pad * unit;
}

void put_expert(Canvas& canvas, const LogicalOperand& o, std::size_t e, std::int64_t first,
                std::int64_t row_pitch, std::int64_t token_pitch) {
  const std::int64_t begin = o.begins[e];
  for (std::int64_t row = 0; row < o.rows; ++row) {
    for (std::int64_t k = 0; k < o.begins[e + 1] - begin; ++k) {
      canvas.put(first + row * row_pitch + k * token_pitch, o.code(row, begin + k));
    }
  }
}

}  // namespace

OperandImage operand_image(const Case& c, const LogicalOperand& o, Major major, std::int64_t pad) {
  const std::int64_t t = tokens(c);
  const bool k_major = major == Major::kK;
  const bool ragged = k_major && c.problem.input_order == InputOrder::kTensorRagged;
  const std::int64_t width = k_major ? t : o.rows;
  const std::int64_t height = k_major ? o.rows : t;
  const std::int64_t ld = leading_dimension(c.problem, o.dtype, width, pad);
  const std::int64_t size = ragged ? o.rows * t : height == 0 ? 0 : (height - 1) * ld + width;
  Canvas canvas(o.dtype, size, poison_code(o.dtype, c.poison));
  for (std::size_t e = 0; e + 1 < o.begins.size(); ++e) {
    const std::int64_t begin = o.begins[e];
    if (ragged) {
      put_expert(canvas, o, e, o.rows * begin, o.begins[e + 1] - begin, 1);
    } else if (k_major) {
      put_expert(canvas, o, e, begin, ld, 1);
    } else {
      put_expert(canvas, o, e, begin * ld, 1, ld);
    }
  }
  return {canvas.packed(), ld};
}

ScaleImage scale_image(const Case& c, const LogicalOperand& o) {
  if (!o.row_scales.empty()) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(o.row_scales.data());
    return {Bytes(bytes, bytes + o.row_scales.size() * sizeof(float)),
            static_cast<std::int64_t>(c.counts.size())};
  }
  if (o.vec_size == 0) return {};
  const std::int64_t size = bits(o.scale_dtype) / 8;
  const bool swizzled = c.problem.scales->layout == ScaleLayout::kSwizzled;
  std::int64_t cols = 0;
  for (std::size_t e = 0; e + 1 < o.first_cols.size(); ++e) {
    cols += up(o.first_cols[e + 1] - o.first_cols[e], swizzled ? 4 : 1);
  }
  cols += 4 * c.scale_col_pad;
  const std::int64_t height = swizzled ? up(o.rows, 128) : o.rows;
  ScaleImage image{Bytes(static_cast<std::size_t>(height * cols * size), c.scale_padding), cols};
  std::int64_t base = 0;
  for (std::size_t e = 0; e + 1 < o.first_cols.size(); ++e) {
    const std::int64_t first = o.first_cols[e];
    const std::int64_t count = o.first_cols[e + 1] - first;
    for (std::int64_t row = 0; row < o.rows; ++row) {
      for (std::int64_t col = 0; col < count; ++col) {
        const std::int64_t atom = row / 128 * (up(count, 4) / 4) + col / 4;
        const std::int64_t in_atom = row % 32 * 16 + row % 128 / 32 * 4 + col % 4;
        const std::int64_t at = swizzled ? base + atom * 512 + in_atom : row * cols + first + col;
        const std::uint32_t code = o.scale_code(row, first + col);
        std::memcpy(&image.bytes.at(at * size), &code, static_cast<std::size_t>(size));
      }
    }
    base += up(o.rows, 128) * up(count, 4);
  }
  return image;
}

OutputImage::OutputImage(const Case& c) : problem_(problem(c)) {
  place_experts(c);
  fill_cells(c);
}

void OutputImage::place_experts(const Case& c) {
  const std::int64_t size = bits(problem_.wgrad_dtype) / 8;
  const std::int64_t pitch = problem_.wgrad_row_pitch != 0 ? problem_.wgrad_row_pitch : problem_.n;
  const std::int64_t span = ((problem_.m - 1) * pitch + problem_.n) * size;
  const std::size_t experts = c.counts.size();
  expert_offsets_.resize(experts);
  std::int64_t end = kGuardBytes;
  if (problem_.output_mode == OutputMode::kDense) {
    const std::int64_t stride =
        problem_.wgrad_expert_stride != 0 ? problem_.wgrad_expert_stride : problem_.m * pitch;
    for (std::size_t e = 0; e < experts; ++e) {
      expert_offsets_[e] = kGuardBytes + static_cast<std::int64_t>(e) * stride * size;
    }
    end = expert_offsets_.back() + span;
  } else {
    // Anywhere in memory, in no order: here the reverse one, with gaps.
    for (std::size_t e = experts; e-- > 0;) {
      expert_offsets_[e] = end;
      end = up(end + span, 16) + kGuardBytes;
    }
  }
  bytes_.assign(static_cast<std::size_t>(end + kGuardBytes), kCanary);
}

void OutputImage::fill_cells(const Case& c) {
  Random random(c.seed + 1);
  const DType dtype = problem_.wgrad_dtype;
  for (std::size_t e = 0; e < expert_offsets_.size(); ++e) {
    for (std::int64_t i = 0; i < problem_.m; ++i) {
      for (std::int64_t j = 0; j < problem_.n; ++j) {
        const double start = c.data == DataKind::kOnes ? 0.0
                             : c.data == DataKind::kNormal
                                 ? random.normal()
                                 : static_cast<double>(random.integer(-8, 8));
        const std::uint32_t code = c.start_code.value_or(
            problem_.accumulate ? nearest_code(dtype, start) : poison_code(dtype, Poison::kNan));
        std::memcpy(bytes_.data() + cell_offset(e, i, j), &code,
                    static_cast<std::size_t>(bits(dtype)) / 8);
      }
    }
  }
}

std::int64_t OutputImage::cell_offset(std::size_t e, std::int64_t i, std::int64_t j) const {
  const std::int64_t pitch = problem_.wgrad_row_pitch != 0 ? problem_.wgrad_row_pitch : problem_.n;
  return expert_offsets_[e] + (i * pitch + j) * (bits(problem_.wgrad_dtype) / 8);
}

std::uint32_t read_code(const Bytes& bytes, std::int64_t offset, DType dtype) {
  std::uint32_t code = 0;
  std::memcpy(&code, bytes.data() + offset, static_cast<std::size_t>(bits(dtype)) / 8);
  return code;
}

double read_value(const Bytes& bytes, std::int64_t offset, DType dtype) {
  return decode(dtype, read_code(bytes, offset, dtype));
}

}  // namespace wgrad::harness
