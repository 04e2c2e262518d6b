// Is one batched matmul of oneDNN faster than a matmul for each expert, where all experts have as
// many tokens? Wgrad[e] (M, N) = A[e]^T (M, K) by B[e] (K, N), bf16 to f32, both operands
// token-major. One thread, CPU time.
//   g++ -std=c++20 -O2 -I DNNL/include bench/micro/onednn_batched.cpp -L DNNL/lib -ldnnl -fopenmp
//   -o onednn_batched OMP_NUM_THREADS=1 LD_LIBRARY_PATH=DNNL/lib ./onednn_batched
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace {

using dnnl::memory;
using Dims = memory::dims;
constexpr int kRounds = 7;

struct Shape {
  memory::dim experts, m, n, tokens;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// `batch` products in one call; `batch` 1 leaves the axis of experts out.
class Product {
 public:
  Product(const dnnl::engine& engine, const Shape& s, memory::dim batch) {
    const auto desc = [&](Dims dims, Dims strides, memory::data_type type) {
      if (batch == 1) return memory::desc({dims[1], dims[2]}, type, Dims{strides[1], strides[2]});
      return memory::desc(dims, type, strides);
    };
    const auto bf16 = memory::data_type::bf16;
    a_ = desc({batch, s.m, s.tokens}, {s.tokens * s.m, 1, s.m}, bf16);
    b_ = desc({batch, s.tokens, s.n}, {s.tokens * s.n, s.n, 1}, bf16);
    c_ = desc({batch, s.m, s.n}, {s.m * s.n, s.n, 1}, memory::data_type::f32);
#if DNNL_VERSION_MAJOR >= 3
    matmul_ = dnnl::matmul(dnnl::matmul::primitive_desc(engine, a_, b_, c_));
#else
    matmul_ = dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a_, b_, c_), engine));
#endif
  }
  void run(dnnl::engine& engine, dnnl::stream& stream, std::uint16_t* a, std::uint16_t* b,
           float* c) {
    matmul_.execute(stream, {{DNNL_ARG_SRC, memory(a_, engine, a)},
                             {DNNL_ARG_WEIGHTS, memory(b_, engine, b)},
                             {DNNL_ARG_DST, memory(c_, engine, c)}});
    stream.wait();
  }

 private:
  memory::desc a_, b_, c_;
  dnnl::matmul matmul_;
};

void compare(const Shape& s) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto e = static_cast<std::size_t>(s.experts);
  const auto m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n);
  const auto k = static_cast<std::size_t>(s.tokens);
  std::vector<std::uint16_t> a(e * k * m, 0x3f80), b(e * k * n, 0x3f80);
  std::vector<float> c(e * m * n);
  Product single(engine, s, 1), batched(engine, s, s.experts);
  double best[2] = {1e30, 1e30};
  for (int round = 0; round < kRounds; ++round) {
    const double start = cpu_seconds();
    for (std::size_t i = 0; i < e; ++i)
      single.run(engine, stream, &a[i * k * m], &b[i * k * n], &c[i * m * n]);
    const double middle = cpu_seconds();
    batched.run(engine, stream, a.data(), b.data(), c.data());
    best[0] = std::min(best[0], middle - start);
    best[1] = std::min(best[1], cpu_seconds() - middle);
  }
  const double gflop = 2e-9 * static_cast<double>(e * m * n * k);
  std::printf("%ld x %ld x %ld, %ld tokens each: %.0f GFLOP/s one by one, %.0f batched (%s)\n",
              s.experts, s.m, s.n, s.tokens, gflop / best[0], gflop / best[1],
              c[0] == static_cast<float>(s.tokens) && c.back() == c[0] ? "right" : "WRONG");
}

}  // namespace

int main() {
  const auto* v = dnnl::version();
  std::printf("oneDNN %d.%d.%d\n", v->major, v->minor, v->patch);
  for (const Shape& s :
       {Shape{8, 512, 512, 512}, Shape{32, 512, 256, 128}, Shape{128, 256, 256, 64},
        Shape{64, 128, 128, 32}, Shape{4, 1024, 1024, 512}})
    compare(s);
}
