#include "codegen/sm90_source.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "wgrad/sm90/smem.hpp"

namespace wgrad::codegen {
namespace {

using shared::Config;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Sm90Source, NamesEveryFieldOfTheConfig) {
  Config c;
  c.tile_n = 192;
  c.tail_n = 64;
  c.tile_k = 32;
  c.stages = 3;
  c.cluster_m = 2;
  c.ring_slots = 4;
  c.input = shared::InputType::kFp16;
  c.output = shared::OutputType::kFp32;
  c.a = shared::OperandLayout::kKMajor;
  c.b = shared::OperandLayout::kMnMajor;
  c.output_mode = shared::OutputMode::kDiscrete;
  c.accumulate = true;
  c.prefetch_boxes = 6;
  c.partial_columns = true;
  c.split = shared::WarpgroupSplit::kTiles;
  c.trace = true;
  const KernelSource source = sm90_source(c);
  EXPECT_TRUE(has(source.text,
                  "constexpr Config kConfig{\n"
                  "    .tile_m = 128, .tile_n = 192, .tail_n = 64, .tile_k = 32, .stages = 3, "
                  ".cluster_m = 2, .split_k = 1,\n    .ring_slots = 4,\n"
                  "    .input = InputType::kFp16, .output = OutputType::kFp32,\n"
                  "    .a = OperandLayout::kKMajor, .b = OperandLayout::kMnMajor,\n"
                  "    .output_mode = OutputMode::kDiscrete, .accumulate = true, .prefetch_boxes = "
                  "6, .partial_columns = true,\n"
                  "    .split = WarpgroupSplit::kTiles, .trace = true};\n"))
      << source.text;
  EXPECT_TRUE(has(source.text, std::to_string(shared::smem_layout(c).total) + "u"));
  EXPECT_TRUE(has(source.text, "extern \"C\" __global__"));
  EXPECT_EQ(source.options.front(), "--gpu-architecture=sm_90a");
}

TEST(Sm90Source, DependsOnTheConfigAlone) {
  EXPECT_EQ(sm90_source(Config{}), sm90_source(Config{}));
  EXPECT_EQ(sm90_source(Config{}).digest(), sm90_source(Config{}).digest());
}

/// Config{} with one field changed, for every value of every field.
std::vector<Config> neighbours() {
  std::vector<Config> out(1);
  const auto add = [&](auto Config::*field, auto... values) {
    (..., (out.emplace_back().*field = values));
  };
  add(&Config::tile_n, 64, 128, 192);
  add(&Config::tail_n, 64, 128, 192);
  add(&Config::tile_k, 32);
  add(&Config::stages, 2, 3);
  add(&Config::cluster_m, 2);
  add(&Config::ring_slots, 3, 4);
  add(&Config::input, shared::InputType::kFp16);
  add(&Config::output, shared::OutputType::kFp16, shared::OutputType::kFp32);
  using Layout = shared::OperandLayout;
  add(&Config::a, Layout::kMnMajor, Layout::kKMajor, Layout::kKMajorRagged);
  add(&Config::b, Layout::kMnMajor, Layout::kKMajor, Layout::kKMajorRagged);
  add(&Config::output_mode, shared::OutputMode::kDiscrete);
  add(&Config::accumulate, true);
  add(&Config::prefetch_boxes, 0, 2);
  add(&Config::partial_columns, true);
  add(&Config::split, shared::WarpgroupSplit::kTiles);
  return out;
}

TEST(Sm90Source, EveryFieldChangesTheDigest) {
  std::set<std::string> digests;
  for (const Config& c : neighbours()) digests.insert(sm90_source(c).digest());
  EXPECT_EQ(digests.size(), neighbours().size());
}

}  // namespace
}  // namespace wgrad::codegen
