#include "cpu/grouped_matmul.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/thread_team.hpp"
#include "cpu/tiles/aligned_buffer.hpp"
#include "cpu/tiles/exponent_range.hpp"
#include "cpu/tiles/tile_factors.hpp"
#include "cpu/tiles/wide_tile.hpp"

namespace wgrad::cpu {
namespace {

TileType tile_type(const plan::CpuConfig& config) {
  return config.native_bf16 ? TileType::kBf16 : TileType::kF32;
}

/// Rows of an output.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// A block of one expert's output.
struct Tile {
  std::int64_t expert = 0;
  ExpertPlace place;
  RowRange rows;
  std::int64_t col = 0;
  std::int64_t cols = 0;
};

/// What a thread computes of a tile: all of it, or one of `parts` parts.
struct Task {
  std::int64_t expert = 0;
  ExpertPlace place;
  std::int64_t tile = 0;
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

/// The tasks of a run: of the experts that have anything to do, those with the most tokens first,
/// so that no long task starts last. Threads share a tile that is a large part of a thread's fair
/// share of all tokens, or whose expert is among the last, which have fewer tiles than there are
/// threads. None of this has any influence on results.
class Schedule {
 public:
  /// `tiles` of every expert.
  Schedule(const Problem& p, const Operands& o, const plan::CpuConfig& c, std::int64_t tiles) {
    const std::int64_t tokens = collect(p, o);
    const auto has_few = [&](const Entry& entry) { return entry.place.tokens < c.tile_k; };
    const auto few = std::find_if(experts_.begin(), experts_.end(), has_few);
    // Tiles that remain when all threads had as many.
    const std::int64_t rest = (few - experts_.begin()) * tiles % c.threads;
    for (auto entry = experts_.begin(); entry != few; ++entry) {
      const std::int64_t left = (few - entry) * tiles;  // of this expert and those after it
      const std::int64_t fair =
          kTasksOfAThread * c.threads * entry->place.tokens / (tokens * tiles);
      const std::int64_t idle = left <= rest ? c.threads / rest : 1;
      const std::int64_t calls = ceil_div(c.tile_m, plan::call_rows(c, entry->place.tokens));
      if (c.threads > 1) entry->parts = std::clamp<std::int64_t>(std::max(fair, idle), 1, calls);
    }
    for (Entry& entry : experts_) {
      entry.first = count_;
      count_ += tiles * entry.parts;
    }
  }

  std::int64_t count() const { return count_; }

  Task task(std::int64_t index) const {
    const auto after =
        std::upper_bound(experts_.begin(), experts_.end(), index,
                         [](std::int64_t i, const Entry& entry) { return i < entry.first; });
    const Entry& entry = *std::prev(after);
    const std::int64_t at = index - entry.first;
    return {entry.expert, entry.place, at / entry.parts, at % entry.parts, entry.parts};
  }

 private:
  struct Entry {
    std::int64_t expert = 0;
    ExpertPlace place;
    std::int64_t parts = 1;  ///< of each tile
    std::int64_t first = 0;  ///< task
  };

  static constexpr std::int64_t kTasksOfAThread = 2;  ///< more would pack operands too often

  /// The experts that have anything to do, in order; returns the tokens of all.
  std::int64_t collect(const Problem& p, const Operands& o) {
    ExpertPlace place;
    experts_.reserve(static_cast<std::size_t>(p.experts));
    for (std::int64_t e = 0; e < p.experts; ++e) {
      place.tokens = o.offsets[e] - place.begin;
      if (place.tokens > 0 || !p.accumulate) experts_.push_back({e, place, 1, 0});
      place.begin += place.tokens;
      if (p.scales) {
        place.scale_begin +=
            scales::scale_columns(place.tokens, p.scales->vec_size, p.scales->layout);
      }
    }
    std::stable_sort(experts_.begin(), experts_.end(), [](const Entry& x, const Entry& y) {
      return x.place.tokens > y.place.tokens;
    });
    return place.begin;
  }

  std::int64_t count_ = 0;
  std::vector<Entry> experts_;
};

/// The computation of some of a tile's rows, on one thread.
class TileTask {
 public:
  TileTask(const Problem& p, const plan::CpuConfig& c, const TileMatmul& matmul, const Operands& o,
           const Tile& tile, const RowRange& part)
      : p_(p),
        c_(c),
        matmul_(matmul),
        tile_(tile),
        part_(part),
        a_(expert_a(p, o, tile.place)),
        b_(expert_b(p, o, tile.place)),
        out_(output(o)) {}

  void compute(std::uint8_t* scratch) {
    if (tile_.place.tokens == 0) return fill_zeros();
    const ExponentShift shift = exponent_shift();
    if (shift.wide) return sum_wide(a_, rows(), b_, cols(), *p_.scales, out_);
    if (shift != ExponentShift{}) {
      out_.factor *= std::ldexp(1.0, shift.a + shift.b);
      out_.scaled = true;
    }
    multiply(shift, scratch);
  }

 private:
  TileRegion rows() const { return {part_.begin, part_.count, 0, tile_.place.tokens}; }
  TileRegion cols() const { return {tile_.col, tile_.cols, 0, tile_.place.tokens}; }

  TileOutput output(const Operands& o) const {
    const std::int64_t size = bits(p_.wgrad_dtype) / 8;
    TileOutput out;
    out.pitch = row_pitch(p_);
    out.dtype = p_.wgrad_dtype;
    out.accumulate = p_.accumulate;
    auto* expert =
        p_.output_mode == OutputMode::kDense
            ? static_cast<std::uint8_t*>(o.wgrad) + tile_.expert * expert_stride(p_) * size
            : reinterpret_cast<std::uint8_t*>(  // NOLINT(performance-no-int-to-ptr)
                  static_cast<std::uintptr_t>(o.wgrad_ptrs[tile_.expert]));
    out.base = expert + (part_.begin * out.pitch + tile_.col) * size;
    if (p_.scales && p_.scales->global_scale) {
      out.factor = static_cast<double>(o.global_scale_a[tile_.expert]) *
                   static_cast<double>(o.global_scale_b[tile_.expert]);
      out.scaled = true;
    }
    return out;
  }

  void fill_zeros() const {
    const std::int64_t size = bits(p_.wgrad_dtype) / 8;
    for (std::int64_t i = 0; i < part_.count; ++i) {
      std::memset(out_.base + i * out_.pitch * size, 0,
                  static_cast<std::size_t>(tile_.cols * size));
    }
  }

  /// The whole tile's, whoever computes it.
  ExponentShift exponent_shift() const {
    if (!p_.scales || p_.scales->dtype == DType::kE4m3 || scales_whole_rows(p_)) return {};
    const int vec = p_.scales->vec_size;
    const std::int64_t k = tile_.place.tokens;
    const auto scan = p_.scales->dtype == DType::kF32 ? scan_float_exponents : scan_exponents;
    return choose_shift(scan(a_, vec, tile_.rows.begin, tile_.rows.count, k),
                        element_range(p_.a_dtype), scan(b_, vec, tile_.col, tile_.cols, k),
                        element_range(p_.b_dtype), k);
  }

  void multiply(const ExponentShift& shift, std::uint8_t* scratch) const {
    const plan::CpuScratch parts = plan::scratch(c_, p_);
    const TilePart a{a_, rows(), CellOrder::kRows, shift.a, scratch, parts.a_ld};
    const TilePart b{b_, cols(), matmul_.b_order(), shift.b, scratch + parts.a_bytes, parts.b_ld};
    const std::int64_t gapless = c_.native_bf16 ? tile_.cols : out_.pitch;
    const bool direct = out_.dtype == DType::kF32 && !out_.accumulate && !out_.scaled &&
                        !scales_whole_rows(p_) && tile_.place.tokens <= c_.tile_k &&
                        out_.pitch == gapless;
    auto* c = reinterpret_cast<float*>(direct ? out_.base : b.tile + parts.b_bytes);
    const std::int64_t ldc = direct ? out_.pitch : c_.native_bf16 ? tile_.cols : parts.c_ld;
    if (c_.native_bf16) {
      add_steps(Packed(p_, a), Packed(p_, b), c, ldc);
    } else {
      add_steps(Widened(p_, a), Widened(p_, b), c, ldc);
    }
    if (scales_whole_rows(p_)) scale_whole_rows(c, ldc);
    if (!direct) store(c, ldc);
  }

  /// In double, in which no product of the two factors and a sum overflows.
  void scale_whole_rows(float* c, std::int64_t ldc) const {
    for (std::int64_t i = 0; i < part_.count; ++i) {
      const double of_row = a_.scales.value(part_.begin + i, 0);
      for (std::int64_t j = 0; j < tile_.cols; ++j) {
        float& sum = c[i * ldc + j];
        sum = static_cast<float>(sum * of_row * double{b_.scales.value(tile_.col + j, 0)});
      }
    }
  }

  template <class Part>
  void add_steps(const Part& a, const Part& b, float* c, std::int64_t ldc) const {
    for (std::int64_t token = 0, step = 0; token < tile_.place.tokens; token += step) {
      step = next_step(tile_.place.tokens - token);
      const std::int64_t k = c_.native_bf16 ? round_up(step, plan::kTokenStep) : step;
      const TileFactor factor_a = a.factor(token, step);
      const TileFactor factor_b = b.factor(token, step);
      const std::int64_t most = plan::call_rows(c_, tile_.place.tokens);
      for (std::int64_t row = 0; row < part_.count; row += most) {
        const std::int64_t rows = std::min(most, part_.count - row);
        matmul_.multiply({rows, tile_.cols, k}, rows_from(factor_a, row, k), factor_b,
                         c + row * ldc, ldc, token > 0);
      }
    }
  }

  /// Factor A, of k tokens, without its first rows.
  TileFactor rows_from(const TileFactor& a, std::int64_t row, std::int64_t k) const {
    if (c_.native_bf16) return {static_cast<const std::uint16_t*>(a.data) + row * k, a.ld, a.major};
    const std::int64_t pitch = a.major == Major::kK ? a.ld : 1;
    return {static_cast<const float*>(a.data) + row * pitch, a.ld, a.major};
  }

  /// Native matmuls are compiled for each depth: whole tiles, multiples of kTokenStep, and a rest
  /// that is padded with zeros to kTokenStep.
  std::int64_t next_step(std::int64_t left) const {
    if (left >= c_.tile_k) return c_.tile_k;
    if (!c_.native_bf16 || left < plan::kTokenStep) return left;
    return left - left % plan::kTokenStep;
  }

  void store(const float* c, std::int64_t ldc) const {
    const StoreLine line = store_line(out_.dtype, out_.accumulate,
                                      out_.scaled ? scaling_for(out_.factor) : Scaling::kNone);
    const std::int64_t size = bits(out_.dtype) / 8;
    for (std::int64_t i = 0; i < part_.count; ++i) {
      line(c + i * ldc, out_.factor, out_.base + i * out_.pitch * size, tile_.cols);
    }
  }

  const Problem& p_;
  const plan::CpuConfig& c_;
  const TileMatmul& matmul_;
  const Tile& tile_;
  RowRange part_;
  ExpertOperand a_;
  ExpertOperand b_;
  TileOutput out_;
};

/// Whole calls; the last parts may have fewer, or none.
RowRange part_of(const RowRange& rows, const Task& task, std::int64_t call_rows) {
  const std::int64_t calls = ceil_div(rows.count, call_rows);
  const std::int64_t each = ceil_div(calls, task.parts) * call_rows;
  const std::int64_t begin = std::min(task.part * each, rows.count);
  return {rows.begin + begin, std::min(each, rows.count - begin)};
}

std::uint8_t* thread_scratch(std::int64_t bytes) {
  thread_local AlignedBuffer buffer;
  return buffer.at_least(bytes);  // NOLINT(clang-analyzer-cplusplus.NewDelete): thread_local
}

}  // namespace

GroupedMatmul::GroupedMatmul(const Problem& problem, const plan::CpuConfig& config)
    : GroupedMatmul(problem, config, make_tile_matmul(tile_type(config))) {}

GroupedMatmul::GroupedMatmul(const Problem& problem, const plan::CpuConfig& config,
                             std::unique_ptr<const TileMatmul> matmul)
    : problem_(problem), config_(config), matmul_(std::move(matmul)) {}

void GroupedMatmul::run(const Operands& operands) const {
  const std::int64_t tiles_n = ceil_div(problem_.n, config_.tile_n);
  const std::int64_t tiles = ceil_div(problem_.m, config_.tile_m) * tiles_n;
  const Schedule schedule(problem_, operands, config_, tiles);
  const std::int64_t bytes = plan::scratch(config_, problem_).total_bytes();
  run_tasks(schedule.count(), config_.threads, [&](std::int64_t index) {
    const Task task = schedule.task(index);
    const std::int64_t row = task.tile / tiles_n * config_.tile_m;
    const std::int64_t col = task.tile % tiles_n * config_.tile_n;
    const Tile tile{task.expert,
                    task.place,
                    {row, std::min(config_.tile_m, problem_.m - row)},
                    col,
                    std::min(config_.tile_n, problem_.n - col)};
    const RowRange part = part_of(tile.rows, task, plan::call_rows(config_, task.place.tokens));
    if (part.count <= 0) return;
    TileTask(problem_, config_, *matmul_, operands, tile, part).compute(thread_scratch(bytes));
  });
}

}  // namespace wgrad::cpu
