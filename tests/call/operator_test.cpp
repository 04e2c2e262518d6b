// Calls that a front end states in C++, computed by the operators kept for them.
#include "call/operator.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "call/members.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/reference.hpp"

namespace wgrad::test {
namespace {

using call::Element;
using call::packed_view;

/// Small whole numbers in float16, so that every sum is exact.
struct Data {
  explicit Data(std::int64_t tokens, std::int64_t pad = 0)
      : t(tokens), a_pitch(kM + pad), b_pitch(kN + pad) {
    constexpr std::uint16_t kCodes[] = {0x3C00, 0x4000, 0xBC00, 0x0000, 0x4200};  // 1 2 -1 0 3
    for (std::int64_t i = 0; i < t * a_pitch; ++i) x.push_back(kCodes[(7 * i) % 5]);
    for (std::int64_t i = 0; i < t * b_pitch; ++i) dy.push_back(kCodes[(3 * i + 1) % 5]);
    ends = {static_cast<std::int32_t>(t / 3), static_cast<std::int32_t>(t)};
  }

  call::Tensors tensors() {
    const call::Place cpu;
    call::Tensors in;
    in.a = packed_view(x.data(), Element::kF16, std::array{t, kM}, cpu);
    in.a.strides[0] = a_pitch;
    in.a = in.a.transposed();
    in.b = packed_view(dy.data(), Element::kF16, std::array{t, kN}, cpu);
    in.b.strides[0] = b_pitch;
    in.offsets = packed_view(ends.data(), Element::kI32, std::array{kE}, cpu);
    in.wgrad = packed_view(out.data(), Element::kF32, std::array{kE, kM, kN}, cpu);
    return in;
  }

  static constexpr std::int64_t kE = 2, kM = 16, kN = 24;
  std::int64_t t, a_pitch, b_pitch;
  std::vector<std::uint16_t> x, dy;
  std::vector<std::int32_t> ends;
  std::vector<float> out = std::vector<float>(kE * kM * kN, -1e30F);
};

/// Whether the call wrote what the reference does.
bool computed_right(Data& data, const call::Call& call) {
  const std::vector<float> got = data.out;
  std::fill(data.out.begin(), data.out.end(), 0.0F);
  reference::run(call.problem, call.operands);
  return got == data.out;
}

TEST(OperatorTest, OneServesAnyTokensAndLeadingDimensions) {
  call::OperatorCache operators;
  const call::Operator* first = nullptr;
  for (const std::int64_t tokens : {37, 12, 64}) {
    for (const std::int64_t pad : {0, 8, 40}) {
      Data data(tokens, pad);
      const call::Call call = call::read_call(data.tensors(), {}, {});
      const auto kept = operators.get(call);
      if (first == nullptr) first = kept.get();
      EXPECT_EQ(kept.get(), first) << tokens << " tokens, padded by " << pad;
      kept->run(call);
      EXPECT_TRUE(computed_right(data, call)) << tokens << " tokens, padded by " << pad;
    }
  }
}

TEST(OperatorTest, AnotherOutputHasAnotherOperator) {
  call::OperatorCache operators;
  Data data(37);
  const auto packed = operators.get(call::read_call(data.tensors(), {}, {}));
  data.out.resize(2 * Data::kE * Data::kM * Data::kN, -1e30F);
  call::Tensors padded = data.tensors();
  for (const std::size_t axis : {0U, 1U}) padded.wgrad->strides[axis] *= 2;
  const call::Call call = call::read_call(padded, {}, {});
  const auto kept = operators.get(call);
  EXPECT_NE(kept, packed);
  kept->run(call);
  for (std::size_t i = 0; i < data.out.size(); ++i) {
    const bool gap = i % (2 * Data::kN) >= Data::kN;
    EXPECT_EQ(data.out[i] == -1e30F, gap) << i;
  }
}

TEST(OperatorTest, AHitUnderAForgetfulKeyIsAnError) {
  Data data(37);
  const call::Call call = call::read_call(data.tensors(), {}, {});
  const call::Operator kept(call::contract_of(call));
  EXPECT_NO_THROW(call::check_hit(kept, call));
  for (const auto& [name, changed] : changed_one_by_one(call::contract_of(call))) {
    if (name == "tokens") continue;
    call::Call other = call;
    other.problem = changed.problem;
    other.place = changed.place;
    other.preparation = changed.preparation;
    EXPECT_THROW(call::check_hit(kept, other), RuntimeError) << name;
  }
}

TEST(OperatorTest, RefusesInTheWordsOfTheCaller) {
  Data data(37);
  call::Tensors tensors = data.tensors();
  tensors.offsets.element = Element::kOther;
  tensors.offsets.dtype = "float64";
  const auto read = [&] {
    call::in_words_of(call::Api::kCall, [&] { call::read_call(tensors, {}, {}); });
  };
  EXPECT_EQ(
      refusal<ValueError>(read),
      "wgrad: offsets_tensor is float64; it must be int32, the cumulative ends of the experts: "
      "sample_offsets must be int32; offsets_tensor must be a contiguous rank-1 int32 tensor with "
      "one "
      "entry per expert");
}

// Else each call of a front end would take a byte from its allocator.
TEST(OperatorTest, NeedsNoWorkspaceOfAPlanWithoutOne) {
  Data data(37);
  call::Call call = call::read_call(data.tensors(), {}, {});
  call.problem.workspace = true;
  const call::Operator kept(call::contract_of(call));
  EXPECT_EQ(kept.needed_workspace_bytes(), 0);
  kept.run(call);
  EXPECT_TRUE(computed_right(data, call));
}

TEST(OperatorTest, ThreadsShareOneCache) {
  call::OperatorCache operators;
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (bool& mine : right) {
    threads.emplace_back([&operators, &mine] {
      Data data(37);
      const call::Call call = call::read_call(data.tensors(), {}, {});
      operators.get(call)->run(call);
      mine = computed_right(data, call);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool mine : right) EXPECT_TRUE(mine);
}

}  // namespace
}  // namespace wgrad::test
