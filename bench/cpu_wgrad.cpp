// Times the CPU backend over a shapes file: BF16 and every block-scaled format beside it.
//
// Shapes are scaled to the machine by one rule: hidden and intermediate are divided by a power of
// two, tokens by half of it (so that experts keep tokens), the smallest one that brings 2*M*N*T to
// at most --gflop; M and N stay multiples of 32.
// Formats take turns within a repetition, so that clocks and neighbours touch all alike; the median
// of the repetitions is printed. The last columns are time over BF16's time.
//
// usage: cpu_wgrad [SHAPES] [--gflop 8] [--repeat 7] [--only NAME] [--out bf16|f32] [--accumulate]
//        [--format NAME] [--cpu-time]
//
// --cpu-time counts the process's CPU time instead of the wall's: with WGRAD_THREADS=1 it means
// something on a machine that is busy with other work too.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "bench/shapes.hpp"
#include "bench/token_counts.hpp"
#include "harness/measure.hpp"
#include "harness/workload.hpp"
#include "wgrad/wgrad.hpp"

namespace {

using wgrad::DType;
using wgrad::Major;

using wgrad::bench::Shape;

struct Settings {
  std::string shapes;
  double gflop = 8;
  int repeat = 7;
  std::string only;
  DType out = DType::kBf16;
  bool accumulate = false;
  bool cpu_time = false;
  std::string format;  ///< only this one, beside bf16
};

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (word == "--gflop") {
      s.gflop = std::stod(next());
    } else if (word == "--repeat") {
      s.repeat = std::stoi(next());
    } else if (word == "--only") {
      s.only = next();
    } else if (word == "--out") {
      s.out = next() == "f32" ? DType::kF32 : DType::kBf16;
    } else if (word == "--format") {
      s.format = next();
    } else if (word == "--cpu-time") {
      s.cpu_time = true;
    } else if (word == "--accumulate") {
      s.accumulate = true;
    } else {
      s.shapes = word;
    }
  }
  return s;
}

std::vector<Shape> read_shapes(const std::string& path) {
  if (path.empty()) return wgrad::bench::parse_shapes(wgrad::bench::builtin_shapes(), "shapes.txt");
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return wgrad::bench::parse_shapes(text, path);
}

Shape scaled(Shape s, double gflop) {
  const Shape full = s;
  const auto width = [](std::int64_t extent, std::int64_t by) {
    return std::max<std::int64_t>(extent / by / 32 * 32, 32);
  };
  for (std::int64_t by = 1;
       2e-9 * static_cast<double>(s.m * s.n) * static_cast<double>(s.tokens) > gflop; by *= 2) {
    s.m = width(full.m, by * 2);
    s.n = width(full.n, by * 2);
    s.tokens = std::max(full.tokens / by, s.experts);  // half as much
  }
  return s;
}

struct Format {
  const char* name;
  DType element;
  Major major;
  std::optional<wgrad::ScaleSpec> scales;
};

std::vector<Format> formats(const std::string& only) {
  const wgrad::ScaleSpec mx{DType::kE8m0, 32, wgrad::ScaleLayout::kSwizzled, false};
  const wgrad::ScaleSpec nv{DType::kE4m3, 16, wgrad::ScaleLayout::kSwizzled, true};
  std::vector<Format> all = {
      {"bf16", DType::kBf16, Major::kMn, {}},   {"bf16-k", DType::kBf16, Major::kK, {}},
      {"fp16", DType::kF16, Major::kMn, {}},    {"mxfp8", DType::kE4m3, Major::kMn, mx},
      {"mxfp8-k", DType::kE4m3, Major::kK, mx}, {"mxfp4", DType::kE2m1, Major::kK, mx},
      {"nvfp4", DType::kE2m1, Major::kK, nv}};
  std::erase_if(all, [&](const Format& f) {
    return !only.empty() && only != f.name && f.name != std::string("bf16");
  });
  return all;
}

struct Case {
  wgrad::Executable executable;
  wgrad::harness::Workload data;
  std::vector<double> ms;
};

std::unique_ptr<Case> make_case(const Shape& s, const Format& f, const Settings& settings,
                                const std::vector<std::int64_t>& counts) {
  wgrad::Problem p;
  p.experts = s.experts;
  p.m = s.m;
  p.n = s.n;
  p.tokens = s.tokens;
  p.a_dtype = p.b_dtype = f.element;
  p.a_major = p.b_major = f.major;
  p.scales = f.scales;
  p.wgrad_dtype = settings.out;
  p.accumulate = settings.accumulate;
  const wgrad::DeviceSpec device = wgrad::cpu_device();
  return std::unique_ptr<Case>(new Case{
      prepare(p, device), {p, counts, 7, device.threads, wgrad::harness::host_device()}, {}});
}

double clock_ms(bool cpu_time) {
  timespec now{};
  clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double timed_ms(const Case& c, bool cpu_time) {
  const double start = clock_ms(cpu_time);
  c.executable.run(c.data.device_operands());
  return clock_ms(cpu_time) - start;
}

void bench(const Shape& full, const Settings& settings) {
  const Shape s = scaled(full, settings.gflop);
  // Even counts, so that packed FP4 can take the same shape.
  const auto counts = wgrad::bench::token_counts(s, 7, 2);
  std::vector<std::unique_ptr<Case>> cases;
  for (const Format& f : formats(settings.format))
    cases.push_back(make_case(s, f, settings, counts));
  for (const auto& c : cases) timed_ms(*c, settings.cpu_time);
  for (int r = 0; r < settings.repeat; ++r) {
    for (const auto& c : cases) c->ms.push_back(timed_ms(*c, settings.cpu_time));
  }
  const double base = wgrad::harness::median(cases[0]->ms);
  const double gflop = 2e-9 * static_cast<double>(s.m * s.n) * static_cast<double>(s.tokens);
  fmt::print("{:16} {:4} {:5} {:5} {:6} {:8.2f} {:7.1f}", s.name, s.experts, s.m, s.n, s.tokens,
             base, gflop / base * 1e3);
  for (std::size_t i = 1; i < cases.size(); ++i)
    fmt::print(" {:8.2f}", wgrad::harness::median(cases[i]->ms) / base);
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const wgrad::DeviceSpec device = wgrad::cpu_device();
  fmt::print("{}, {} threads, avx512_bf16 {}, amx_bf16 {}\n", device.name, device.threads,
             device.avx512_bf16, device.amx_bf16);
  fmt::print("{:16} {:>4} {:>5} {:>5} {:>6} {:>8} {:>7}", "shape", "E", "M", "N", "T", "bf16 ms",
             "GFLOP/s");
  for (const Format& f : formats(settings.format)) {
    if (std::strcmp(f.name, "bf16") != 0) fmt::print(" {:>8}", f.name);
  }
  fmt::print("\n");
  for (const Shape& s : read_shapes(settings.shapes)) {
    if (settings.only.empty() || settings.only == s.name) bench(s, settings);
  }
  return 0;
}
