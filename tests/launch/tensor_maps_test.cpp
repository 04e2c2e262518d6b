#include "launch/tensor_maps.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/driver/fake_driver.hpp"
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
  const auto get = [&](const MapKey& key) { return memo.get(fake.api(), key); };
  EXPECT_EQ(get({kRecipe, 0x1000}).opaque[0], 0x1000U);
  EXPECT_EQ(get({kRecipe, 0x1000}).opaque[0], 0x1000U);
  EXPECT_EQ(fake.maps.size(), 1U);
}

/// `kRecipe` with one number changed, for every number that it holds.
std::vector<shared::TensorMapRecipe> neighbours() {
  std::vector<shared::TensorMapRecipe> out;
  const auto changed = [&](auto change) { change(out.emplace_back(kRecipe)); };
  changed([](auto& r) { ++r.rank; });
  changed([](auto& r) { r.element = shared::MapElement::kFp32; });
  for (std::size_t i = 0; i < std::size(kRecipe.dims); ++i) changed([&](auto& r) { ++r.dims[i]; });
  for (std::size_t i = 0; i < std::size(kRecipe.strides); ++i)
    changed([&](auto& r) { r.strides[i] += 16; });
  for (std::size_t i = 0; i < std::size(kRecipe.box); ++i) changed([&](auto& r) { ++r.box[i]; });
  changed([](auto& r) { r.is_plain = !r.is_plain; });
  return out;
}

TEST(MapMemo, EveryNumberOfARecipeIsPartOfTheKey) {
  const MapKey key = {kRecipe, 0x1000};
  EXPECT_EQ(key, (MapKey{kRecipe, 0x1000}));
  EXPECT_NE(key, (MapKey{kRecipe, 0x1010}));
  for (const shared::TensorMapRecipe& other : neighbours()) EXPECT_NE(key, (MapKey{other, 0x1000}));
}

TEST(MapMemo, AnotherRecipeAtTheSameAddressIsEncoded) {
  FakeDriver fake;
  MapMemo memo;
  shared::TensorMapRecipe wider = kRecipe;
  wider.strides[0] += 16;
  memo.get(fake.api(), {kRecipe, 0x1000});
  memo.get(fake.api(), {wider, 0x1000});
  ASSERT_EQ(fake.maps.size(), 2U);
  EXPECT_EQ(fake.maps[1].strides[0], 1296U);
}

TEST(MapMemo, GivesEveryKeyItsOwnMapHoweverManyThereAre) {
  FakeDriver fake;
  MapMemo memo;
  for (int round = 0; round < 2; ++round) {
    for (CuAddress address = 0x1000; address < 0x100000; address += 0x1000) {
      EXPECT_EQ(memo.get(fake.api(), {kRecipe, address}).opaque[0], address);
    }
  }
}

TEST(MapMemo, ForgetsWhatCouldNotBeEncoded) {
  FakeDriver fake;
  MapMemo memo;
  const auto get = [&] { return memo.get(fake.api(), {kRecipe, 0x1000}); };
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
        const auto map = memo.get(fake.api(), {kRecipe, address});
        wrong += map.opaque[0] != address;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace wgrad::launch
