#include "emu/fuzz/kernel_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "harness/cases/logical.hpp"
#include "harness/random.hpp"
#include "scales/codec.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::test {
namespace {

using shared::Config;
using shared::OperandLayout;

constexpr std::int64_t kCounts[] = {0, 0, 1, 7, 8, 13, 63, 64, 65, 128, 130, 200};

// Extents that reach into one, two or three tiles, of the kind the layout is for.
std::int64_t random_extent(Random& random, OperandLayout layout, std::int64_t most) {
  const std::int64_t unit = unit_of(layout);
  std::int64_t extent = unit * random.integer(1, most / unit);
  if (layout == OperandLayout::kMnMajor && extent % 64 == 0) extent += 8;
  return extent;
}

DType output_dtype(shared::OutputType type) {
  if (type == shared::OutputType::kFp32) return DType::kF32;
  return type == shared::OutputType::kBf16 ? DType::kBf16 : DType::kF16;
}

// A neighbour that reads a token too many gets a NaN: infinity times a masked zero.
void make_infinite(LogicalData& data) {
  for (std::size_t e = 0; e + 1 < data.a.begins.size(); ++e) {
    if (data.a.begins[e] == data.a.begins[e + 1]) continue;
    const std::int64_t last = data.a.begins[e + 1] - 1;
    data.a.set(0, last, std::numeric_limits<double>::infinity());
    for (std::int64_t row = 0; row < data.b.rows; ++row) data.b.set(row, last, 1.0);
  }
}

/// `value` in row `at` of token `t`; of the other operand what multiplies with it to the same.
void set_foreign(LogicalOperand& operand, LogicalOperand& other, std::int64_t at, std::int64_t t,
                 double value) {
  for (std::int64_t row = 0; row < other.rows; ++row) {
    if (std::isfinite(scales::decode(other.dtype, other.code(row, t)))) other.set(row, t, 1.0);
  }
  operand.set(std::min(at, operand.rows - 1), t, value);
}

void set_foreign(LogicalData& data, Foreign foreign, std::int64_t t) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (foreign == Foreign::kInfinityA) set_foreign(data.a, data.b, 0, t, kInfinity);
  if (foreign == Foreign::kInfinityB) set_foreign(data.b, data.a, 0, t, kInfinity);
  if (foreign == Foreign::kNanA) set_foreign(data.a, data.b, 0, t, kNan);
  if (foreign == Foreign::kNanB) set_foreign(data.b, data.a, 0, t, kNan);
  if (foreign == Foreign::kInfinityBoth) {
    set_foreign(data.a, data.b, 0, t, kInfinity);
    set_foreign(data.b, data.a, 1, t, kInfinity);
  }
}

/// In the first and the last token of every second expert that has some.
void set_foreign(LogicalData& data, const KernelCase& k) {
  if (k.foreign == Foreign::kRecorded) return make_infinite(data);
  bool here = k.data_seed % 2 == 0;
  for (std::size_t e = 0; e + 1 < data.a.begins.size(); ++e) {
    const std::int64_t begin = data.a.begins[e], end = data.a.begins[e + 1];
    if (begin == end) continue;
    here = !here;
    if (!here) continue;
    set_foreign(data, k.foreign, begin);
    set_foreign(data, k.foreign, end - 1);
  }
}

void multiply_by_powers(LogicalOperand& operand, Random& random, int low, int high) {
  for (std::int64_t row = 0; row < operand.rows; ++row) {
    for (std::int64_t t = 0; t < operand.tokens(); ++t) {
      const double value = scales::decode(operand.dtype, operand.code(row, t));
      operand.set(row, t, std::ldexp(value, static_cast<int>(random.integer(low, high))));
    }
  }
}

// Powers of two that spread the values, or push the sums (bf16 only) among the subnormals.
void set_values(Case& full, const KernelCase& k) {
  const bool tiny = k.values == Values::kTiny;
  if (k.values != Values::kIntegers) full.data = DataKind::kNormal;
  if (tiny) full.start_code = full.problem.wgrad_dtype == DType::kF32 ? 0x00300000 : 0x0030;
  full.adjust = [k, tiny](LogicalData& data) {
    Random random(k.data_seed + 77);
    if (k.values == Values::kWide || tiny) {
      multiply_by_powers(data.a, random, tiny ? -70 : -6, tiny ? -60 : 6);
      multiply_by_powers(data.b, random, tiny ? -70 : -6, tiny ? -60 : 6);
    }
    if (k.foreign != Foreign::kNothing) set_foreign(data, k);
  };
}

// "7,0,0" or, of a number that stands more than four times, "7,0:1000".
std::string counts_text(const std::vector<std::int64_t>& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t times = 1;
    while (i + times < counts.size() && counts[i + times] == counts[i]) ++times;
    if (times <= 4) times = 1;
    text += fmt::format("{}{}", i == 0 ? "" : ",", counts[i]);
    if (times > 1) text += fmt::format(":{}", times);
    i += times;
  }
  return text;
}

std::vector<std::int64_t> parse_counts(const std::string& text) {
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const std::size_t colon = item.find(':');
    const std::size_t times = colon == std::string::npos ? 1 : std::stoull(item.substr(colon + 1));
    counts.insert(counts.end(), times, std::stoll(item));
    at = comma + 1;
  }
  return counts;
}

// MN-major operands are as wide as they like: only their rows are padded to 16 bytes.
void narrow(KernelCase& k, const Config& c, Random& random) {
  if (c.a == OperandLayout::kMnMajor) k.m = std::max<std::int64_t>(1, k.m - random.integer(0, 7));
  if (c.b == OperandLayout::kMnMajor && c.partial_columns)
    k.n = std::max<std::int64_t>(1, k.n - random.integer(0, 7));
}

// More experts than are sorted, or than a CTA has threads; few of them with tokens.
void make_many(KernelCase& k, const Config& c, Random& random, std::uint64_t which) {
  constexpr std::size_t kMore[] = {100, 0, 1};
  k.m = k.n = 64;
  k.counts.assign(static_cast<std::size_t>(shared::kMaxOrderedExperts) + kMore[which % 3], 0);
  for (int i = 0; i < 4; ++i)
    k.counts[static_cast<std::size_t>(random.integer(0, shared::kMaxOrderedExperts - 1))] = 9;
  k.counts.back() = 13;
  if (c.partial_columns) k.n = 61;
}

// The same, of which one CTA, or cluster, has a tile of zeros between others. For larger clusters
// the machine's clocks would take tens of GB.
void make_many_with_zeros(KernelCase& k, const Config& c, Random& random, std::uint64_t which) {
  make_many(k, c, random, which);
  k.sms = shared::cluster_ctas(c);
  for (std::size_t e = 0; e < 12; ++e) k.counts[e] = e % 5 == 1 ? 0 : 13;
}

// More tiles than a track has room for.
void make_long(KernelCase& k, const Config& c) {
  k.m = 64;
  k.n = c.tile_n;
  k.sms = shared::cluster_ctas(c);
  k.counts.assign(500, 0);
}

// Tiles of so many k blocks that they are claimed late, several of them for each CTA.
void make_lengthy(KernelCase& k, const Config& c) {
  k.m = 64;
  k.n = 3 * c.tile_n;
  k.sms = shared::cluster_ctas(c);
  k.counts.assign(2, std::int64_t{4} * c.stages * c.tile_k * c.split_k + 5);
}

// Two to eight parts of an expert, of as few tokens as 64; few sets of sums, so that tiles wait for
// each other's.
void make_parts(KernelCase& k, const Config& c, std::uint64_t seed) {
  Random random(seed);
  k.parts = static_cast<int>(random.integer(2, 8));
  k.sets = static_cast<int>(random.integer(0, 2));
  k.sms = shared::cluster_ctas(c) * static_cast<int>(random.integer(1, 5));
  for (std::int64_t& count : k.counts) {
    if (random.chance(0.5)) count += 64 * random.integer(1, 5);
  }
}

// A run of tiles without k blocks, for which nobody waits for the producer.
void make_empty(KernelCase& k) {
  k.counts.assign(12, 0);
  k.counts.push_back(130);
}

// Three or five rows of tiles in raster groups of two or three: the last group is a lower one.
void make_tall(KernelCase& k, const Config& c, Random& random) {
  k.raster_m = static_cast<int>(random.integer(2, 3));
  const std::int64_t rows = k.raster_m == 2 ? 3 : 5, height = c.tile_m * c.cluster_m;
  k.m = round_up((rows - 1) * height + random.integer(1, 40), unit_of(c.a));
  k.counts.resize(std::min<std::size_t>(k.counts.size(), 2));
  for (std::int64_t& count : k.counts) count = std::min<std::int64_t>(count, 65);
}

// As many tokens as 16 bits do not count, behind experts that have few and none.
void make_deep(KernelCase& k, const Config& c) {
  k.m = std::max<std::int64_t>(8, unit_of(c.a));
  k.n = round_up(std::int64_t{8}, unit_of(c.b));
  k.counts = {9, 0, std::int64_t{1} << 16};
  k.foreign = Foreign::kNothing;
}

// The second expert begins within a line of K-major rows, whose box brings the first one's last
// tokens: each operand by turns holds what must not be multiplied there.
void make_heads(KernelCase& k, std::uint64_t which) {
  k.counts = {16 + static_cast<std::int64_t>(which * 13 % 48), 70};
  k.a_pad = k.b_pad = 0;
  k.slack = round_up(k.counts[0] + k.counts[1], std::int64_t{64}) - k.counts[0] - k.counts[1];
  k.foreign = static_cast<Foreign>(2 + which % 5);
}

void break_data(KernelCase& k, const Config& c, std::uint64_t which) {
  constexpr Broken kOffsets[] = {Broken::kOffsetsNegative, Broken::kOffsetBeyond,
                                 Broken::kOffsetDecreases, Broken::kOffsetNegative};
  constexpr Broken kPointers[] = {Broken::kPointerNull, Broken::kPointerAlignment};
  const bool pointer = c.output_mode == shared::OutputMode::kDiscrete && which % 3 != 2;
  k.broken = pointer ? kPointers[which % 2] : kOffsets[which % 4];
  // An accumulation looks at its empty experts once, and walks no tile of theirs.
  if (c.accumulate && which % 2 == 0)
    k.counts.insert(k.counts.begin(), static_cast<std::size_t>(shared::threads_per_cta(c)) + 9, 0);
  if (k.broken == Broken::kOffsetBeyond) k.slack = 0;
  if (k.broken == Broken::kOffsetsNegative) k.counts.assign(40, 0);
  if (pointer && k.counts.back() == 0) k.counts.back() = 7;
  if (k.broken == Broken::kOffsetDecreases || k.broken == Broken::kOffsetNegative) {
    k.counts[k.counts.size() - 1] = 200;
    k.counts.push_back(0);
  }
}

}  // namespace

std::size_t broken_pointer(const KernelCase& k) {
  constexpr std::size_t kMostThreads = 384;
  return k.counts.size() > kMostThreads ? k.counts.size() - 1 : 0;
}

std::int64_t unit_of(OperandLayout layout) {
  if (layout == OperandLayout::kMnMajorBlocked) return 64;
  return layout == OperandLayout::kMnMajor ? 8 : 1;
}

Case full_case(const Config& c, const KernelCase& k) {
  Case full;
  Problem& p = full.problem;
  p.m = k.m;
  p.n = k.n;
  p.a_dtype = p.b_dtype = c.input == shared::InputType::kBf16 ? DType::kBf16 : DType::kF16;
  p.a_major = shared::is_mn_major(c.a) ? Major::kMn : Major::kK;
  p.b_major = shared::is_mn_major(c.b) ? Major::kMn : Major::kK;
  p.input_order = shared::uses_loader(c) ? InputOrder::kTensorRagged : InputOrder::kTensor2d;
  p.wgrad_dtype = output_dtype(c.output);
  p.output_mode =
      c.output_mode == shared::OutputMode::kDense ? OutputMode::kDense : OutputMode::kDiscrete;
  p.accumulate = c.accumulate;
  const std::int64_t unit = 16 / shared::output_bytes(c);
  p.wgrad_row_pitch = round_up(k.n, unit) + k.pitch_pad * unit;
  if (p.output_mode == OutputMode::kDense) p.wgrad_expert_stride = p.m * p.wgrad_row_pitch;
  full.counts = k.counts;
  full.slack = k.slack;
  full.a_pad = k.a_pad;
  full.b_pad = k.b_pad;
  full.seed = k.data_seed;
  set_values(full, k);
  full.problem = problem(full);
  return full;
}

KernelCase random_kernel_case(const Config& c, std::size_t kernel, std::uint64_t number) {
  Random random(number * 1000003 + kernel);
  KernelCase k;
  k.kernel = kernel;
  k.m = random_extent(random, c.a, 128 * c.cluster_m + 64);
  k.n = random_extent(random, c.b, c.tile_n + 64);
  if (!c.partial_columns) k.n = round_up(k.n, std::int64_t{16 / shared::output_bytes(c)});
  const std::int64_t experts = random.integer(1, 4);
  for (std::int64_t e = 0; e < experts; ++e) k.counts.push_back(random.pick(kCounts));
  k.slack = random.chance(0.5) ? random.integer(1, 70) : 0;
  k.a_pad = random.chance(0.3) ? random.integer(1, 3) : 0;
  k.b_pad = random.chance(0.3) ? random.integer(1, 3) : 0;
  k.pitch_pad = random.chance(0.3) ? random.integer(1, 3) : 0;
  if (shared::aligns_first_token(c) && random.chance(0.5)) {  // rows that start at 128-byte lines
    k.a_pad = k.b_pad = 0;
    std::int64_t total = k.slack;
    for (const std::int64_t count : k.counts) total += count;
    k.slack += round_up(total, std::int64_t{64}) - total;
  }
  k.sms = shared::cluster_ctas(c) * static_cast<int>(random.integer(1, 2));
  k.foreign = random.chance(0.3) ? Foreign::kRecorded : Foreign::kNothing;
  k.data_seed = number;
  k.seed = random.next() % 1000000;
  return k;
}

KernelCase fuzz_case(const Config& c, std::size_t kernel, std::uint64_t number) {
  KernelCase k = random_kernel_case(c, kernel, number);
  if (c.split_k > 1) {
    Random clusters(number * 104729 + kernel);
    k.sms = shared::cluster_ctas(c) * static_cast<int>(clusters.integer(1, 3));
  }
  Random foreign(number * 15485863 + kernel);
  if (foreign.chance(0.6)) k.foreign = static_cast<Foreign>(foreign.integer(2, 6));
  if (c.workspace_split) make_parts(k, c, number * 104729 + kernel);
  Random random(number * 7919 + kernel);
  if (random.chance(0.5)) narrow(k, c, random);
  if (c.trace && number % 64 == 4) {
    make_long(k, c);
  } else if (c.accumulate && number % 13 == 5) {
    make_many(k, c, random, number / 13);
  } else if (!c.accumulate && shared::cluster_ctas(c) <= 2 && number % 89 == 21) {
    make_many_with_zeros(k, c, random, number / 89);
  } else if (c.accumulate && number % 87 == 20) {
    make_deep(k, c);
  } else if (shared::aligns_first_token(c) && number % 10 == 9) {
    make_heads(k, number / 10);
  } else if (number % 5 == 2) {
    break_data(k, c, number / 5);
  } else if (c.split_k > 1 && number % 8 == 6) {
    make_empty(k);
  } else if (number % 7 == 3) {
    make_tall(k, c, random);
  } else if (number % 11 == 7) {
    make_lengthy(k, c);
  }
  return k;
}

std::string arguments(const KernelCase& k) {
  std::string text = fmt::format(
      "--kernel {} --m {} --n {} --counts {} --slack {} --a-pad {} --b-pad {} --pitch-pad {} "
      "--sms {} --infinite {} --values {} --data-seed {} --seed {}",
      k.kernel, k.m, k.n, counts_text(k.counts), k.slack, k.a_pad, k.b_pad, k.pitch_pad, k.sms,
      static_cast<int>(k.foreign), static_cast<int>(k.values), k.data_seed, k.seed);
  if (k.parts != 1) text += fmt::format(" --parts {} --sets {}", k.parts, k.sets);
  if (k.raster_m != 0) text += fmt::format(" --raster-m {}", k.raster_m);
  if (k.broken != Broken::kNothing) text += fmt::format(" --broken {}", static_cast<int>(k.broken));
  return text;
}

KernelCase parse(const std::vector<std::string>& args) {
  KernelCase k;
  for (std::size_t i = 0; i + 1 < args.size(); i += 2) {
    const std::string& name = args[i];
    const std::string& value = args[i + 1];
    if (name == "--counts") {
      k.counts = parse_counts(value);
      continue;
    }
    const auto number = static_cast<std::uint64_t>(std::stoull(value));
    const auto size = static_cast<std::int64_t>(number);
    if (name == "--kernel")
      k.kernel = number;
    else if (name == "--m")
      k.m = size;
    else if (name == "--n")
      k.n = size;
    else if (name == "--slack")
      k.slack = size;
    else if (name == "--a-pad")
      k.a_pad = size;
    else if (name == "--b-pad")
      k.b_pad = size;
    else if (name == "--pitch-pad")
      k.pitch_pad = size;
    else if (name == "--sms")
      k.sms = static_cast<int>(size);
    else if (name == "--parts")
      k.parts = static_cast<int>(size);
    else if (name == "--sets")
      k.sets = static_cast<int>(size);
    else if (name == "--raster-m")
      k.raster_m = static_cast<int>(size);
    else if (name == "--infinite")
      k.foreign = static_cast<Foreign>(number);
    else if (name == "--values")
      k.values = static_cast<Values>(number);
    else if (name == "--broken")
      k.broken = static_cast<Broken>(number);
    else if (name == "--data-seed")
      k.data_seed = number;
    else if (name == "--seed")
      k.seed = number;
    else
      throw std::invalid_argument("unknown argument " + name);
  }
  return k;
}

}  // namespace wgrad::test
