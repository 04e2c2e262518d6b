#include "launch/tensor_maps.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "launch/fake_driver.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::launch {
namespace {

const shared::TensorMapRecipe kRecipe = shared::output_map(shared::Config{}, 384, 640, 1280);

TEST(TensorMaps, PassTheRecipeOn) {
  FakeDriver fake;
  encode(fake.api(), kRecipe, 0x7000);
  ASSERT_EQ(fake.maps.size(), 1U);
  const RecordedMap& map = fake.maps[0];
  EXPECT_EQ(map.type, kCuBfloat16);
  EXPECT_EQ(map.address, 0x7000U);
  EXPECT_EQ(map.dims, (std::vector<std::uint64_t>{640, 384, 1 << 30, 1 << 30}));
  EXPECT_EQ(map.strides, (std::vector<std::uint64_t>{1280, 16, std::uint64_t{1} << 34}));
  EXPECT_EQ(map.box, (std::vector<std::uint32_t>{64, 16, 1, 1}));
}

TEST(TensorMaps, NoRecipeNoCall) {
  FakeDriver fake;
  encode(fake.api(), shared::TensorMapRecipe{}, 0x7000);
  EXPECT_EQ(fake.count("tensor_map_encode"), 0);
}

TEST(TensorMaps, ARefusedRecipeIsShown) {
  FakeDriver fake;
  try {
    encode(fake.api(), kRecipe, 0x7008);
    FAIL() << "a misaligned address was taken";
  } catch (const RuntimeError& error) {
    EXPECT_EQ(std::string(error.what()),
              "wgrad: no tensor map for address 0x7008, dimensions [640, 384, 1073741824, "
              "1073741824], byte strides [1280, 16, 17179869184], box [64, 16, 1, 1]: as planned "
              "(CUDA_ERROR_FAKE)");
  }
}

TEST(MapMemo, EncodesOncePerKey) {
  FakeDriver fake;
  MapMemo memo;
  const auto get = [&](MapKey key) { return memo.get(fake.api(), key, [] { return kRecipe; }); };
  EXPECT_EQ(get({0x1000, 8, 0}).opaque[0], 0x1000U);
  EXPECT_EQ(get({0x1000, 8, 0}).opaque[0], 0x1000U);
  EXPECT_EQ(fake.maps.size(), 1U);
  get({0x1000, 16, 0});
  get({0x1000, 16, 5});
  EXPECT_EQ(fake.maps.size(), 3U) << "leading dimension and tokens are part of the key";
}

TEST(MapMemo, GivesEveryKeyItsOwnMapHoweverManyThereAre) {
  FakeDriver fake;
  MapMemo memo;
  for (int round = 0; round < 2; ++round) {
    for (CuAddress address = 0x1000; address < 0x100000; address += 0x1000) {
      EXPECT_EQ(memo.get(fake.api(), {address, 8, 0}, [] { return kRecipe; }).opaque[0], address);
    }
  }
}

TEST(MapMemo, ForgetsWhatCouldNotBeEncoded) {
  FakeDriver fake;
  MapMemo memo;
  const auto get = [&] { return memo.get(fake.api(), {0x1000, 8, 0}, [] { return kRecipe; }); };
  fake.failures["tensor_map_encode"] = 1;
  EXPECT_THROW(get(), RuntimeError);
  fake.failures.clear();
  EXPECT_EQ(get().opaque[0], 0x1000U);
}

TEST(MapMemo, ThreadsNeverSeeAnothersMap) {
  FakeDriver fake;
  MapMemo memo;
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (CuAddress t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (CuAddress i = 0; i < 2000; ++i) {
        const CuAddress address = 0x1000 * (1 + (i * 7 + t) % 50);
        const auto map = memo.get(fake.api(), {address, 8, 0}, [] { return kRecipe; });
        wrong += map.opaque[0] != address;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace wgrad::launch
