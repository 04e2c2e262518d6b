#include "cli/commands/problem_flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <functional>

#include "bench/token_counts.hpp"
#include "cli/text/numbers.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::cli {
namespace {

struct ElementFormat {
  DType element = DType::kBf16;
  std::optional<ScaleSpec> scales;
};

ElementFormat element_format(const std::string& word) {
  if (word == "bf16") return {DType::kBf16, std::nullopt};
  if (word == "fp16") return {DType::kF16, std::nullopt};
  ScaleSpec scales;
  if (word == "mxfp8-e4m3") return {DType::kE4m3, scales};
  if (word == "mxfp8-e5m2") return {DType::kE5m2, scales};
  if (word == "mxfp4") return {DType::kE2m1, scales};
  if (word.starts_with("fp8-")) {
    const int vec = word.starts_with("fp8-rowwise") ? kAllTokens : 128;
    return {word.ends_with("e5m2") ? DType::kE5m2 : DType::kE4m3,
            ScaleSpec{DType::kF32, vec, ScaleLayout::kCompact}};
  }
  scales.dtype = DType::kE4m3;
  scales.vec_size = 16;
  scales.global_scale = true;
  return {DType::kE2m1, scales};
}

Major major(char letter) {
  return letter == 'k' ? Major::kK : Major::kMn;
}

void set_majors(Problem& p, const std::string& word) {
  const bool k_major = p.a_dtype == DType::kE2m1 || is_fp8_by_rows(p);
  const std::string majors = !word.empty() ? word : k_major ? "kk" : "mn";
  p.a_major = major(majors[0]);
  p.b_major = major(majors[1]);
}

std::vector<bench::Shape> file_shapes(const std::string& path) {
  if (path.empty()) return bench::parse_shapes(bench::builtin_shapes(), "built-in shapes");
  std::ifstream file(path);
  if (!file) throw ValueError(fmt::format("wgrad: --shapes-file {} cannot be read", path));
  std::string text;
  for (std::string line; std::getline(file, line);) text += line + '\n';
  if (file.bad()) throw ValueError(fmt::format("wgrad: --shapes-file {} cannot be read", path));
  return bench::parse_shapes(text, path);
}

bool sized_by_hand(const ProblemFlags& f) {
  return f.experts != 0 || f.m != 0 || f.n != 0 || f.tokens != 0 || !f.counts.empty();
}

ShapeChoice by_hand(const ProblemFlags& f) {
  if (!f.names.empty() || !f.shapes_file.empty()) {
    throw ValueError(
        "wgrad: shapes are given by name and by --experts/--m/--n/--tokens/--counts; they must be "
        "given one way");
  }
  ShapeChoice choice;
  choice.counts = f.counts;
  choice.shape = {"by-hand", f.experts, f.m, f.n, f.tokens};
  if (!f.distribution.empty())
    choice.shape.distribution = bench::parse_distribution(f.distribution);
  if (!f.counts.empty()) {
    if (f.experts != 0 || f.tokens != 0 || !f.distribution.empty() || !f.scale.empty()) {
      throw ValueError(
          "wgrad: --counts says which tokens each expert has; leave out --experts, --tokens, "
          "--distribution and --scale");
    }
    choice.shape.experts = static_cast<std::int64_t>(f.counts.size());
    choice.shape.tokens = bench::cumulative_ends(f.counts).back();
  }
  if (choice.shape.experts < 1 || f.m < 1 || f.n < 1) {
    throw ValueError(
        "wgrad: a shape by hand needs --m, --n and either --counts or --experts and --tokens");
  }
  return choice;
}

}  // namespace

void add_problem_flags(CLI::App& app, ProblemFlags& f, const char* shapes) {
  app.add_option("shapes", f.names, shapes);
  app.add_option("--shapes-file", f.shapes_file, "A shapes file instead of the built-in one");
  const std::string hand = "A shape by hand";
  add_number(app, "--experts", f.experts, std::int64_t{1}, "E")->group(hand);
  add_number(app, "--m", f.m, std::int64_t{1}, "Hidden size")->group(hand);
  add_number(app, "--n", f.n, std::int64_t{1}, "Intermediate size")->group(hand);
  add_number(app, "--tokens", f.tokens, std::int64_t{0}, "T")->group(hand);
  app.add_option("--distribution", f.distribution, "How tokens spread over experts (even)")
      ->group(hand)
      ->check(CLI::IsMember({"even", "jitter", "zipf", "hot"}));
  using Text = const std::string&;
  const auto read = [&](const char* flag, const std::function<void(Text)>& into, const char* what) {
    return app.add_option_function<std::string>(flag, into, what);
  };
  const auto counts = [&f](Text text) {
    f.counts = numbers<std::int64_t>("--counts", text, "whole numbers between commas");
  };
  read("--counts", counts, "Tokens of each expert, e.g. 37,0,128")->group(hand);
  app.add_option("--scale", f.scale, "Factor on M, N and T, or 'auto'");
  const std::string problem = "Problem";
  const auto choice = [&](const char* flag, std::string& to, const char* what,
                          std::vector<std::string> words) {
    app.add_option(flag, to, what)->group(problem)->check(CLI::IsMember(std::move(words)));
  };
  choice("--format", f.format, "Elements of A and B (bf16)",
         {"bf16", "fp16", "mxfp8-e4m3", "mxfp8-e5m2", "mxfp4", "nvfp4", "fp8-rowwise-e4m3",
          "fp8-rowwise-e5m2", "fp8-1x128-e4m3", "fp8-1x128-e5m2"});
  choice("--out-dtype", f.out_dtype, "Elements of Wgrad (bf16)", {"bf16", "fp16", "fp32"});
  app.add_flag("--accumulate", f.accumulate, "Wgrad += result")->group(problem);
  app.add_flag("--fast-accumulation", f.fast_accumulation,
               "FP8 rowwise: sums may stay in the tensor cores' short accumulators")
      ->group(problem);
  choice("--order", f.order, "Input order (tensor2d)", {"tensor2d", "ragged"});
  choice("--majors", f.majors, "Contiguous axis of A (m or k) and of B (n or k)",
         {"mn", "mk", "kn", "kk"});
  choice("--output", f.output, "Output mode (dense)", {"dense", "discrete"});
  choice("--scale-layout", f.scale_layout, "Storage of MX and NVFP4 scale factors (swizzled)",
         {"swizzled", "compact"});
  app.add_flag("--global-scale", f.global_scale, "Global scales with MXFP8, MXFP4 or FP8 1x128")
      ->group(problem);
  const auto pair = [](const char* flag, std::vector<int>& to) {
    return [flag, &to](Text text) {
      to = numbers<int>(flag, text, "two whole numbers with a comma between", 2);
    };
  };
  read("--tile", pair("--tile", f.tile), "mma_tiler_mn, e.g. 128,256")->group(problem);
  read("--cluster", pair("--cluster", f.cluster), "cluster_shape_mn, e.g. 2,1")->group(problem);
  const auto seed = [&f](Text text) {
    f.seed = numbers<std::uint64_t>("--seed", text, "a whole number from 0 to 2^64 - 1", 1).front();
  };
  read("--seed", seed, "Seed of counts and data (1)");
}

std::vector<ShapeChoice> chosen_shapes(const ProblemFlags& flags) {
  if (sized_by_hand(flags)) return {by_hand(flags)};
  if (!flags.distribution.empty()) {
    throw ValueError("wgrad: --distribution is for a shape by hand; named shapes have their own");
  }
  std::vector<ShapeChoice> choices;
  for (const bench::Shape& shape :
       bench::select_shapes(file_shapes(flags.shapes_file), flags.names)) {
    choices.push_back({shape, {}, true});
  }
  if (choices.empty()) throw ValueError("wgrad: the shapes file names no shape");
  return choices;
}

Problem make_problem(const ProblemFlags& f, const bench::Shape& shape) {
  const ElementFormat format = element_format(f.format);
  Problem p;
  p.experts = shape.experts;
  p.m = shape.m;
  p.n = shape.n;
  p.tokens = shape.tokens;
  p.a_dtype = format.element;
  p.b_dtype = format.element;
  p.scales = format.scales;
  if (!p.scales && (f.global_scale || f.scale_layout != "swizzled")) {
    throw ValueError(fmt::format(
        "wgrad: --global-scale and --scale-layout need a block-scaled --format; it is {}",
        f.format));
  }
  if (p.scales) {
    p.scales->global_scale = p.scales->global_scale || f.global_scale;
    if (!is_fp8_by_rows(p))
      p.scales->layout =
          f.scale_layout == "compact" ? ScaleLayout::kCompact : ScaleLayout::kSwizzled;
  }
  set_majors(p, f.majors);
  p.wgrad_dtype = f.out_dtype == "fp32"   ? DType::kF32
                  : f.out_dtype == "fp16" ? DType::kF16
                                          : DType::kBf16;
  p.accumulate = f.accumulate;
  p.fast_accumulation = f.fast_accumulation;
  p.input_order = f.order == "ragged" ? InputOrder::kTensorRagged : InputOrder::kTensor2d;
  p.output_mode = f.output == "discrete" ? OutputMode::kDiscrete : OutputMode::kDense;
  if (!f.tile.empty()) {
    p.tiling.tile_m = f.tile[0];
    p.tiling.tile_n = f.tile[1];
  }
  if (!f.cluster.empty()) {
    if (f.cluster[0] == 0 && f.cluster[1] == 0) {  // the core's "wgrad chooses"
      throw ValueError("wgrad: --cluster is 0,0; it must be a pair of powers of two, or left out");
    }
    p.tiling.cluster_m = f.cluster[0];
    p.tiling.cluster_n = f.cluster[1];
  }
  return p;
}

std::string majors_text(const Problem& p) {
  return {p.a_major == Major::kK ? 'k' : 'm', p.b_major == Major::kK ? 'k' : 'n'};
}

std::optional<double> scale_factor(const ProblemFlags& flags, bool named) {
  const std::string& word = flags.scale;
  if (word.empty()) return named ? std::nullopt : std::optional(1.0);
  if (word == "auto") return std::nullopt;
  double factor = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), factor);
  if (error != std::errc{} || end != word.data() + word.size() || !(factor > 0 && factor <= 1)) {
    throw ValueError(
        fmt::format("wgrad: --scale is {}; it must be 'auto' or above 0 and at most 1", word));
  }
  return factor;
}

}  // namespace wgrad::cli
