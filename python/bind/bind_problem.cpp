#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>

#include "bindings.hpp"
#include "call/element.hpp"
#include "call/refusals.hpp"
#include "call/spelling.hpp"
#include "states.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::dtype_named;
using call::input_order_named;
using call::major_named;
using call::output_mode_named;
using call::refuse;
using call::scale_layout_named;
using call::spell;
namespace {

using Text = std::string_view;
using Pair = std::pair<int, int>;

std::optional<ScaleSpec> scales_of(std::optional<Text> dtype, int vec_size, Text layout,
                                   bool global_scale) {
  if (!dtype && global_scale) {
    refuse({"unused-argument", "global_scale", "True", "False without a scale_dtype"});
  }
  if (!dtype && vec_size != 32 && vec_size != 16) {
    refuse({"unused-argument", "sf_vec_size", fmt::format("{}", vec_size),
            "32 or 16, the defaults, without a scale_dtype"});
  }
  if (!dtype && layout != "swizzled") {
    refuse({"unused-argument", "scale_layout", fmt::format("'{}'", layout),
            "'swizzled', its default, without a scale_dtype"});
  }
  if (!dtype) return std::nullopt;
  return ScaleSpec{dtype_named(*dtype, "scale_dtype"), vec_size, scale_layout_named(layout),
                   global_scale};
}

void init(Problem* self, std::int64_t experts, std::int64_t m, std::int64_t n, std::int64_t tokens,
          Text a_dtype, std::optional<Text> b_dtype, Text a_major, Text b_major, Text input_order,
          std::optional<Text> scale_dtype, int sf_vec_size, Text scale_layout, bool global_scale,
          Text wgrad_dtype, Text acc_dtype, Text output_mode, std::int64_t wgrad_expert_stride,
          std::int64_t wgrad_row_pitch, bool accumulate, Pair mma_tiler_mn,
          std::optional<Pair> cluster_shape_mn, bool workspace, bool fast_accumulation) {
  Problem p;
  p.experts = experts;
  p.m = m;
  p.n = n;
  p.tokens = tokens;
  p.a_dtype = dtype_named(a_dtype, "a_dtype");
  p.b_dtype = dtype_named(b_dtype.value_or(a_dtype), "b_dtype");
  p.a_major = major_named(a_major, "a_major");
  p.b_major = major_named(b_major, "b_major");
  p.input_order = input_order_named(input_order);
  p.scales = scales_of(scale_dtype, sf_vec_size, scale_layout, global_scale);
  p.wgrad_dtype = dtype_named(wgrad_dtype, "wgrad_dtype");
  p.acc_dtype = dtype_named(acc_dtype, "acc_dtype");
  p.output_mode = output_mode_named(output_mode);
  p.wgrad_expert_stride = wgrad_expert_stride;
  p.wgrad_row_pitch = wgrad_row_pitch;
  p.accumulate = accumulate;
  p.fast_accumulation = fast_accumulation;
  const Pair cluster = cluster_shape_mn.value_or(Pair{0, 0});
  p.tiling = {mma_tiler_mn.first, mma_tiler_mn.second, cluster.first, cluster.second};
  p.workspace = workspace;
  new (self) Problem(p);
}

ScaleSpec scales_or_default(const Problem& p) {
  return p.scales.value_or(ScaleSpec{});
}

std::string repr(const Problem& p) {
  const Problem usual;
  std::string text = fmt::format(
      "Problem(experts={}, m={}, n={}, tokens={}, a_dtype='{}', b_dtype='{}', a_major='{}', "
      "b_major='{}'",
      p.experts, p.m, p.n, p.tokens, name(p.a_dtype), name(p.b_dtype), spell(p.a_major),
      spell(p.b_major));
  const auto add = [&](bool told, const char* field, const auto& value) {
    if (told) text += fmt::format(", {}={}", field, value);
  };
  const auto quoted = [](Text value) { return fmt::format("'{}'", value); };
  const auto pair = [](int m, int n) { return fmt::format("({}, {})", m, n); };
  if (p.scales) {
    add(true, "scale_dtype", quoted(name(p.scales->dtype)));
    add(true, "sf_vec_size", p.scales->vec_size);
    add(true, "scale_layout", quoted(spell(p.scales->layout)));
    add(p.scales->global_scale, "global_scale", "True");
  }
  add(true, "wgrad_dtype", quoted(name(p.wgrad_dtype)));
  add(true, "output_mode", quoted(spell(p.output_mode)));
  add(p.acc_dtype != usual.acc_dtype, "acc_dtype", quoted(name(p.acc_dtype)));
  add(p.input_order != usual.input_order, "input_order", quoted(spell(p.input_order)));
  add(p.wgrad_expert_stride != 0, "wgrad_expert_stride", p.wgrad_expert_stride);
  add(p.wgrad_row_pitch != 0, "wgrad_row_pitch", p.wgrad_row_pitch);
  add(p.accumulate, "accumulate", "True");
  add(p.fast_accumulation, "fast_accumulation", "True");
  const Tiling& t = p.tiling;
  add(t.tile_m != usual.tiling.tile_m || t.tile_n != usual.tiling.tile_n, "mma_tiler_mn",
      pair(t.tile_m, t.tile_n));
  add(t.cluster_m != 0 || t.cluster_n != 0, "cluster_shape_mn", pair(t.cluster_m, t.cluster_n));
  add(p.workspace, "workspace", "True");
  return text + ")";
}

constexpr const char* kDoc = R"(One grouped weight gradient: shapes, dtypes, layouts. No data.

experts, m, n: E, M, N, the same in every call; tokens: T to plan for.
a_dtype, b_dtype: 'bfloat16', 'float16', 'float8_e4m3fn', 'float8_e5m2' or 'float4_e2m1fn_x2';
    b_dtype None: as a_dtype.
a_major, b_major: 'k' (tokens contiguous) or 'mn' (features contiguous).
input_order: 'tensor2d' or 'tensor_ragged' (K-contiguous expert blocks, one after another).
scale_dtype: None, 'float8_e8m0fnu', 'float8_e4m3fn' or 'float32'. With scale factors, sf_vec_size:
    32, 16 or 128 tokens a factor, or 0: all tokens of an expert; scale_layout: 'swizzled' or
    'compact'; global_scale: whether each expert has one.
wgrad_dtype: 'bfloat16', 'float16' or 'float32'; acc_dtype: 'float32'.
output_mode: 'dense' or 'discrete'; wgrad_expert_stride, wgrad_row_pitch: elements; 0: packed.
accumulate: whether the result is added to the output.
mma_tiler_mn, cluster_shape_mn: the GPU kernel's tile; (256, 256) and None leave the choice to wgrad.
fast_accumulation: of FP8 with a factor for all tokens: whether sums may stay in the tensor cores'
    short accumulators.
workspace: whether every run brings device memory for sums, as calls with torch tensors on a GPU do;
    few outputs then take another kernel.

Raises ValueError for a name that is none of these; whether the problem can run is support()'s
to say.)";

}  // namespace

void bind_problem(nb::module_& module) {
  auto bound =
      nb::class_<Problem>(module, "Problem", kDoc)
          .def("__init__", init, nb::kw_only(), nb::arg("experts"), nb::arg("m"), nb::arg("n"),
               nb::arg("tokens"), nb::arg("a_dtype") = "bfloat16", nb::arg("b_dtype") = nb::none(),
               nb::arg("a_major") = "mn", nb::arg("b_major") = "mn",
               nb::arg("input_order") = "tensor2d", nb::arg("scale_dtype") = nb::none(),
               nb::arg("sf_vec_size") = 32, nb::arg("scale_layout") = "swizzled",
               nb::arg("global_scale") = false, nb::arg("wgrad_dtype") = "bfloat16",
               nb::arg("acc_dtype") = "float32", nb::arg("output_mode") = "dense",
               nb::arg("wgrad_expert_stride") = 0, nb::arg("wgrad_row_pitch") = 0,
               nb::arg("accumulate") = false, nb::arg("mma_tiler_mn") = Pair{256, 256},
               nb::arg("cluster_shape_mn") = nb::none(), nb::arg("workspace") = false,
               nb::arg("fast_accumulation") = false)
          .def_ro("experts", &Problem::experts, "E")
          .def_ro("m", &Problem::m, "M: hidden size, rows of each expert's result")
          .def_ro("n", &Problem::n, "N: intermediate size, columns of each expert's result")
          .def_ro("tokens", &Problem::tokens, "T to plan for")
          .def_ro("accumulate", &Problem::accumulate, "whether the result is added to the output")
          .def_ro("fast_accumulation", &Problem::fast_accumulation,
                  "whether sums may stay in the tensor cores' short accumulators")
          .def_ro("workspace", &Problem::workspace, "whether every run brings memory for sums")
          .def_ro("wgrad_expert_stride", &Problem::wgrad_expert_stride, "elements; 0: packed")
          .def_ro("wgrad_row_pitch", &Problem::wgrad_row_pitch, "elements; 0: packed")
          .def_prop_ro(
              "a_dtype", [](const Problem& p) { return name(p.a_dtype); }, "dtype of A")
          .def_prop_ro(
              "b_dtype", [](const Problem& p) { return name(p.b_dtype); }, "dtype of B")
          .def_prop_ro(
              "wgrad_dtype", [](const Problem& p) { return name(p.wgrad_dtype); },
              "dtype of the output")
          .def_prop_ro(
              "a_major", [](const Problem& p) { return spell(p.a_major); }, "'k' or 'mn'")
          .def_prop_ro(
              "b_major", [](const Problem& p) { return spell(p.b_major); }, "'k' or 'mn'")
          .def_prop_ro(
              "input_order", [](const Problem& p) { return spell(p.input_order); },
              "'tensor2d' or 'tensor_ragged'")
          .def_prop_ro(
              "output_mode", [](const Problem& p) { return spell(p.output_mode); },
              "'dense' or 'discrete'")
          .def_prop_ro(
              "scale_dtype",
              [](const Problem& p) {
                return p.scales ? std::optional(name(p.scales->dtype)) : std::nullopt;
              },
              "dtype of the scale factors; None: there are none")
          .def_prop_ro(
              "sf_vec_size",
              [](const Problem& p) {
                return p.scales ? std::optional(p.scales->vec_size) : std::nullopt;
              },
              "tokens a scale factor covers; None without scale factors")
          .def_prop_ro(
              "scale_layout", [](const Problem& p) { return spell(scales_or_default(p).layout); },
              "'swizzled' or 'compact'")
          .def_prop_ro(
              "global_scale", [](const Problem& p) { return scales_or_default(p).global_scale; },
              "whether each expert has one, on either side")
          .def_prop_ro(
              "acc_dtype", [](const Problem& p) { return name(p.acc_dtype); },
              "dtype that products are summed in")
          .def_prop_ro(
              "mma_tiler_mn",
              [](const Problem& p) {
                return Pair{p.tiling.tile_m, p.tiling.tile_n};
              },
              "the GPU kernel's tile; (256, 256): wgrad chooses")
          .def_prop_ro(
              "cluster_shape_mn",
              [](const Problem& p) -> std::optional<Pair> {
                if (p.tiling.cluster_m == 0 && p.tiling.cluster_n == 0) return std::nullopt;
                return Pair{p.tiling.cluster_m, p.tiling.cluster_n};
              },
              "None: wgrad chooses")
          .def_prop_ro(
              "format",
              [](const Problem& p) -> std::optional<Text> {
                const auto format = format_of(p);
                return format ? std::optional(spell(*format)) : std::nullopt;
              },
              "'16-bit', 'mxfp8', 'mxfp4', 'nvfp4', 'fp8-rowwise' or 'fp8-1x128'; None where the "
              "dtypes "
              "form none of them")
          .def(
              "__eq__", [](const Problem& a, const Problem& b) { return a == b; },
              nb::is_operator())
          .def("__hash__",
               [](const Problem& p) {
                 return nb::hash(nb::make_tuple(p.experts, p.m, p.n, p.tokens));
               })
          .def("__repr__", repr);
  make_picklable(bound);
}

}  // namespace wgrad::python
