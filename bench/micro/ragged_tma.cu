// Does the 5-D ragged tensor map cut off exactly at an expert's end, and what does its rank cost?
// M-major operand X[T][M] (bf16), box = 64 tokens x BM columns.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <vector>
#define CK(x)                                                   \
  do {                                                          \
    cudaError_t e_ = (x);                                       \
    if (e_ != cudaSuccess) {                                    \
      printf("%s line %d\n", cudaGetErrorString(e_), __LINE__); \
      exit(1);                                                  \
    }                                                           \
  } while (0)
typedef CUresult (*Enc)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                        const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                        CUtensorMapFloatOOBfill);
__device__ __forceinline__ void mb_init(uint32_t m, int c) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(m), "r"(c));
}
__device__ __forceinline__ void mb_tx(uint32_t m, uint32_t b) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(m), "r"(b)
               : "memory");
}
__device__ __forceinline__ void mb_wait(uint32_t m, uint32_t p) {
  asm volatile(
      "{\n.reg .pred P;\nL: mbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1;\n@P bra D;\nbra "
      "L;\nD:\n}" ::"r"(m),
      "r"(p)
      : "memory");
}
template <int RANK>
__device__ __forceinline__ void ld(uint32_t d, const CUtensorMap* t, uint32_t m, int c0, int c1,
                                   int c2, int c3, int c4) {
  if constexpr (RANK == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%3,%4}], [%2];" ::"r"(d),
        "l"(t), "r"(m), "r"(c0), "r"(c1)
        : "memory");
  if constexpr (RANK == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%3,%4,%5}], [%2];" ::"r"(d),
        "l"(t), "r"(m), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
  if constexpr (RANK == 5)
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%3,%4,%5,%6,%7}], [%2];" ::"r"(d),
        "l"(t), "r"(m), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
        : "memory");
  if constexpr (RANK == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%3,%4,%5,%6}], [%2];" ::"r"(d),
        "l"(t), "r"(m), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}
// one CTA per (m tile, token range): stream boxes through a 4-deep ring; optionally dump the last
// box MODE 2: 2-D {m, t}, box {64, BK}, BM/64 loads a stage. MODE 3: 3-D {64, t, m/64}, box
// {64,BK,BM/64}, one load. MODE 5: ragged. MODE 4: ragged 4-D {64m.., } box {64,BK,1,1}, BM/64
// loads
template <int MODE>
__global__ void stream(const __grid_constant__ CUtensorMap tm, int BM, int BK, int mtiles, int tbeg,
                       int tend, int reps, __nv_bfloat16* dump) {
  extern __shared__ __align__(1024) char s_[];
  char* s = (char*)(((uintptr_t)s_ + 1023) & ~(uintptr_t)1023);
  __shared__ __align__(8) uint64_t bar[4];
  uint32_t sa = (uint32_t)__cvta_generic_to_shared(s), ba = (uint32_t)__cvta_generic_to_shared(bar);
  uint32_t bytes = BM * BK * 2;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) mb_init(ba + 8 * i, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    int L = tend - tbeg;
    int n = (L + BK - 1) / BK;
    int total = n * reps;
    const int P = 1 << 30;
    auto issue = [&](int i) {
      int st = i & 3;
      int k = (i % n) * BK;
      int mt = (blockIdx.x + (i / n)) % mtiles;
      uint32_t d = sa + st * bytes, m = ba + 8 * st;
      mb_tx(m, bytes);
      if (MODE == 2)
        for (int j = 0; j < BM / 64; j++)
          ld<2>(d + j * 64 * BK * 2, &tm, m, mt * BM + j * 64, tbeg + k, 0, 0, 0);
      if (MODE == 3) ld<3>(d, &tm, m, 0, tbeg + k, mt * (BM / 64), 0, 0);
      if (MODE == 5) ld<5>(d, &tm, m, 0, P - L + k, mt * (BM / 64), P, tbeg + L);
      if (MODE == 4)
        for (int j = 0; j < BM / 64; j++)
          ld<4>(d + j * 64 * BK * 2, &tm, m, mt * BM + j * 64, P - L + k, P, tbeg + L, 0);
    };
    for (int i = 0; i < 4 && i < total; i++) issue(i);
    for (int i = 0; i < total; i++) {
      mb_wait(ba + 8 * (i & 3), (i >> 2) & 1);
      if (i + 4 < total) issue(i + 4);
    }
    if (dump && blockIdx.x == 0) {
      int st = (total - 1) & 3;
      for (int i = 0; i < BM * BK; i++) dump[i] = ((__nv_bfloat16*)(s + st * bytes))[i];
    }
  }
}
int main() {
  const int M = 4096, T = 65536, BM = 128, BK = 64;
  Enc enc;
  cudaDriverEntryPointQueryResult q;
  CK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", (void**)&enc, cudaEnableDefault, &q));
  __nv_bfloat16* x;
  CK(cudaMalloc(&x, (size_t)M * T * 2));
  std::vector<__nv_bfloat16> h((size_t)M * T);
  for (size_t i = 0; i < h.size(); i++) h[i] = __nv_bfloat16((float)((i / M) % 251 + 1));
  CK(cudaMemcpy(x, h.data(), h.size() * 2, cudaMemcpyHostToDevice));
  cuuint64_t ld = (cuuint64_t)M * 2;
  cuuint32_t es[5] = {1, 1, 1, 1, 1};
  CUtensorMap t2, t3, t4, t5;
  CUresult r;
  {
    cuuint64_t d[2] = {M, T}, st[1] = {ld};
    cuuint32_t b[2] = {64, BK};
    r = enc(&t2, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, x, d, st, b, es,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    printf("2-D %d\n", r);
  }
  {
    cuuint64_t d[3] = {64, T, M / 64}, st[2] = {ld, 128};
    cuuint32_t b[3] = {64, BK, BM / 64};
    r = enc(&t3, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, x, d, st, b, es,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    printf("3-D %d\n", r);
  }
  {
    cuuint64_t d[5] = {64, 1u << 30, M / 64, (1ull << 31) - 1, (1ull << 31) - 1},
               st[4] = {ld, 128, (1ull << 34) - ld, ld};
    cuuint32_t b[5] = {64, BK, BM / 64, 1, 1};
    r = enc(&t5, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 5, x, d, st, b, es,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    printf("5-D %d\n", r);
  }
  {
    cuuint64_t d[4] = {M, 1u << 30, (1ull << 31) - 1, (1ull << 31) - 1},
               st[3] = {ld, (1ull << 34) - ld, ld};
    cuuint32_t b[4] = {64, BK, 1, 1};
    r = enc(&t4, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, x, d, st, b, es,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    printf("4-D %d\n", r);
  }
  int sm = 4 * BM * BK * 2 + 1024;
  cudaFuncSetAttribute(stream<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
  cudaFuncSetAttribute(stream<3>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
  cudaFuncSetAttribute(stream<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
  cudaFuncSetAttribute(stream<5>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
  __nv_bfloat16* d;
  CK(cudaMalloc(&d, BM * BK * 2));
  std::vector<__nv_bfloat16> o(BM * BK);
  int bad = 0;
  int cases[][2] = {{0, 37},        {5, 6},         {100, 164},     {1000, 1129},
                    {65000, 65536}, {65535, 65536}, {40000, 65533}, {7, 7 + 64 * 9 + 1}};
  for (int mode : {4, 5})
    for (auto& c : cases) {
      if (mode == 5)
        stream<5><<<1, 32, sm>>>(t5, BM, BK, 1, c[0], c[1], 1, d);
      else
        stream<4><<<1, 32, sm>>>(t4, BM, BK, 1, c[0], c[1], 1, d);
      cudaError_t e = cudaDeviceSynchronize();
      if (e) {
        printf("mode %d [%d,%d): %s\n", mode, c[0], c[1], cudaGetErrorString(e));
        return 1;
      }
      CK(cudaMemcpy(o.data(), d, BM * BK * 2, cudaMemcpyDeviceToHost));
      int L = c[1] - c[0], k0 = (L - 1) / BK * BK, wrong = 0;
      for (int j = 0; j < BM / 64; j++)
        for (int k = 0; k < BK; k++)
          for (int i = 0; i < 64; i++) {
            float w = (k0 + k < L) ? (float)((c[0] + k0 + k) % 251 + 1) : 0.f;
            if ((float)o[(j * BK + k) * 64 + i] != w) wrong++;
          }
      bad += wrong;
      printf("mode %d-D [%d,%d): %d wrong\n", mode, c[0], c[1], wrong);
    }
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  auto tm = [&](const char* n, auto f, double bytes) {
    f();
    float best = 1e9, ms;
    for (int r = 0; r < 5; r++) {
      cudaEventRecord(a);
      f();
      cudaEventRecord(b);
      cudaEventSynchronize(b);
      cudaEventElapsedTime(&ms, a, b);
      if (ms < best) best = ms;
    }
    printf("%-40s %.3f ms %.0f GB/s (%.1f B/clk/SM at 1.7 GHz) %s\n", n, best, bytes / best / 1e6,
           bytes / best * 1e3 / 132 / 1.7e9, cudaGetErrorString(cudaGetLastError()));
  };
  for (int tok : {2048, 65536}) {
    int reps = tok == 2048 ? 64 : 2;
    double by = 132.0 * reps * tok * BM * 2;
    printf("tokens %d (%s)\n", tok, tok == 2048 ? "16 MB, L2-resident" : "DRAM");
    tm(
        "2-D, 2 loads a stage",
        [&] { stream<2><<<132, 32, sm>>>(t2, BM, BK, 32, 0, tok, reps, nullptr); }, by);
    tm(
        "3-D, 1 load", [&] { stream<3><<<132, 32, sm>>>(t3, BM, BK, 32, 0, tok, reps, nullptr); },
        by);
    tm(
        "4-D ragged, 2 loads",
        [&] { stream<4><<<132, 32, sm>>>(t4, BM, BK, 32, 0, tok, reps, nullptr); }, by);
    tm(
        "5-D ragged, 1 load",
        [&] { stream<5><<<132, 32, sm>>>(t5, BM, BK, 32, 0, tok, reps, nullptr); }, by);
  }
  printf("total wrong %d\n", bad);
  return bad != 0;
}
