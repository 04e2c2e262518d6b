#include "kernels/sm90/source.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "wgrad/sm90/smem.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::Config;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Sm90Source, NamesEveryFieldOfTheConfig) {
  Config c;
  c.tile_n = 192;
  c.tail_n = 64;
  c.cluster_m = 2;
  c.output = shared::OutputType::kFp32;
  c.b = shared::OperandLayout::kKMajorRagged;
  c.accumulate = true;
  c.split = shared::WarpgroupSplit::kTiles;
  const KernelSource written = source(c);
  EXPECT_TRUE(has(
      written.text,
      "constexpr Config kConfig{\n"
      "    .tile_m = 128, .tile_n = 192, .tail_n = 64, .tile_k = 64, .stages = 4, "
      ".cluster_m = 2,\n"
      "    .split_k = 1, .workspace_split = false, .ring_slots = 2, .input = "
      "InputType::kBf16,\n"
      "    .output = OutputType::kFp32, .a = OperandLayout::kMnMajorBlocked,\n"
      "    .b = OperandLayout::kKMajorRagged, .output_mode = OutputMode::kDense, .accumulate = "
      "true,\n"
      "    .prefetch_boxes = 4, .partial_columns = false, .split = WarpgroupSplit::kTiles, .trace "
      "= false};\n"))
      << written.text;
  EXPECT_TRUE(has(written.text, std::to_string(shared::smem_table(c).total) + "u"));
  EXPECT_TRUE(has(written.text, "extern \"C\" __global__"));
  EXPECT_EQ(written.options.front(), "--gpu-architecture=sm_90a");
}

TEST(Sm90Source, DependsOnTheConfigAlone) {
  EXPECT_EQ(source(Config{}), source(Config{}));
  EXPECT_EQ(source(Config{}).digest(), source(Config{}).digest());
}

/// Every value of an enumeration or bool; of a number some.
template <typename Value>
std::vector<Value> values_of(const Value& now) {
  if constexpr (std::is_same_v<Value, bool>) {
    return {false, true};
  } else if constexpr (std::is_enum_v<Value>) {
    std::vector<Value> out;
    for (int i = 0; name_of(static_cast<Value>(i)) != nullptr; ++i)
      out.push_back(static_cast<Value>(i));
    return out;
  } else {
    return {now, now + 1, 2 * now + 64};
  }
}

/// Config{} and, for every field, Config{} with that field changed.
std::vector<Config> neighbours() {
  std::vector<Config> out(1);
  Config::visit_fields([&](auto field) {
    for (const auto value : values_of(Config{}.*field.member)) {
      Config c;
      c.*field.member = value;
      if (c != Config{}) out.push_back(c);
    }
  });
  return out;
}

TEST(Sm90Source, EveryFieldHasNeighbours) {
  std::set<std::string> changed;
  for (const Config& c : neighbours()) {
    Config::visit_fields([&](auto field) {
      if (c.*field.member != Config{}.*field.member) changed.insert(field.name);
    });
  }
  EXPECT_EQ(changed.size(), shared::member_count<Config>());
}

TEST(Sm90Source, EveryFieldChangesTheDigest) {
  std::set<std::string> digests;
  for (const Config& c : neighbours()) digests.insert(source(c).digest());
  EXPECT_EQ(digests.size(), neighbours().size());
}

}  // namespace
}  // namespace wgrad::kernels::sm90
