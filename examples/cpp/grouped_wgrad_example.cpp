// Three experts, one of them empty: prepare once, run twice with other token counts.
#include <wgrad/wgrad.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using Bf16 = std::uint16_t;

/// (tokens, width) numbers: 1 in the first column, the token's index in the others.
std::vector<Bf16> rows(std::int64_t tokens, std::int64_t width) {
  std::vector<Bf16> data;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t j = 0; j < width; ++j) {
      const double value = j == 0 ? 1.0 : static_cast<double>(t);
      data.push_back(static_cast<Bf16>(wgrad::encode(wgrad::DType::kBf16, value)));
    }
  }
  return data;
}

/// Runs on `ends` and compares with sums of 1, t and t * t over each expert's tokens.
bool run_and_check(const wgrad::Executable& executable, const std::vector<std::int32_t>& ends) {
  const wgrad::Problem& p = executable.problem();
  const std::int64_t tokens = ends.back();
  const std::vector<Bf16> x = rows(tokens, p.m);
  const std::vector<Bf16> dy = rows(tokens, p.n);
  std::vector<float> result(static_cast<std::size_t>(p.experts * p.m * p.n), -1.0F);

  wgrad::Operands operands;
  operands.tokens = tokens;
  operands.a = x.data();
  operands.b = dy.data();
  operands.offsets = ends.data();
  operands.wgrad = result.data();
  executable.run(operands);

  bool right = true;
  std::int64_t begin = 0;
  for (std::int64_t e = 0; e < p.experts; ++e) {
    double sums[3] = {0, 0, 0};  // of 1, t, t * t
    const std::int64_t end = ends[static_cast<std::size_t>(e)];
    for (std::int64_t t = begin; t < end; ++t) {
      const auto value = static_cast<double>(t);
      sums[0] += 1;
      sums[1] += value;
      sums[2] += value * value;
    }
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        const float got = result[static_cast<std::size_t>((e * p.m + i) * p.n + j)];
        right = right && got == sums[(i > 0) + (j > 0)];
      }
    }
    std::printf("expert %d: %d tokens, sum of t*t %.0f\n", static_cast<int>(e),
                static_cast<int>(end - begin),
                result[static_cast<std::size_t>((e * p.m + 1) * p.n + 1)]);
    begin = end;
  }
  return right;
}

}  // namespace

int main() {
  try {
    wgrad::Problem problem;  // token-major X (T, M) and dY (T, N) in bf16, as the defaults say
    problem.experts = 3;
    problem.m = 16;
    problem.n = 8;
    problem.wgrad_dtype = wgrad::DType::kF32;

    const wgrad::Executable executable = wgrad::prepare(problem, wgrad::cpu_device());
    std::printf("%s\n", executable.plan().c_str());
    const bool right =
        run_and_check(executable, {5, 5, 12}) && run_and_check(executable, {0, 100, 101});
    std::printf("%s\n", right ? "all sums are right" : "a sum is WRONG");
    return right ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
