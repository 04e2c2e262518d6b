// K-major operand X[M][T] (bf16, tokens contiguous): eight static 4-D maps, one per (expert end mod
// 8), cut off exactly at any expert end. Box = 64 tokens x BM rows.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

struct Maps {
  CUtensorMap r[8];
};
// MODE 2: plain 2-D {t, m}. MODE 4: ragged, map chosen by end mod 8
template <int MODE>
__global__ void stream(const __grid_constant__ Maps tm, int BM, int BK, int mtiles, int tbeg,
                       int tend, int reps, __nv_bfloat16* dump) {
  extern __shared__ __align__(1024) char s_[];
  char* s = (char*)(((uintptr_t)s_ + 1023) & ~(uintptr_t)1023);
  __shared__ __align__(8) uint64_t bar[4];
  uint32_t sa = (uint32_t)__cvta_generic_to_shared(s), ba = (uint32_t)__cvta_generic_to_shared(bar);
  uint32_t bytes = BM * BK * 2;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) mb_init(ba + 8 * i, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    int L = tend - tbeg, n = (L + BK - 1) / BK, total = n * reps, r = MODE == 4 ? tend % 8 : 0;
    const int P = 1 << 30;
    const CUtensorMap* t = &tm.r[r];
    auto issue = [&](int i) {
      int st = i & 3, k = (i % n) * BK, mt = (blockIdx.x + (i / n)) % mtiles;
      uint32_t d = sa + st * bytes, m = ba + 8 * st;
      mb_tx(m, bytes);
      if (MODE == 2) ld<2>(d, t, m, tbeg + k, mt * BM, 0, 0, 0);
      if (MODE == 4) ld<4>(d, t, m, P + r - L + k, mt * BM, 1 << 27, (tend - r) / 8, 0);
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
int main(int argc, char** argv) {
  int only = argc > 1 ? atoi(argv[1]) : -1;
  const int M = 4096, T = 65536, BM = 128, BK = 64;
  Enc enc;
  cudaDriverEntryPointQueryResult q;
  CK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", (void**)&enc, cudaEnableDefault, &q));
  __nv_bfloat16* x;
  CK(cudaMalloc(&x, (size_t)M * T * 2));
  std::vector<__nv_bfloat16> h((size_t)M * T);
  for (size_t i = 0; i < h.size(); i++)
    h[i] = __nv_bfloat16((float)(((i % T) + 3 * (i / T)) % 251 + 1));
  CK(cudaMemcpy(x, h.data(), h.size() * 2, cudaMemcpyHostToDevice));
  cuuint64_t ld = (cuuint64_t)T * 2;
  cuuint32_t es[5] = {1, 1, 1, 1, 1};
  Maps t2, t4, t4s;
  CUresult r;
  {
    cuuint64_t d[2] = {T, M}, st[1] = {ld};
    cuuint32_t b[2] = {64, BM};
    r = enc(&t2.r[0], CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, x, d, st, b, es,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    printf("2-D %d\n", r);
  }
  for (int k = 0; k < 8; k++) {
    cuuint64_t d[4] = {(1u << 30) + k, M, (1ull << 31) - 1, (1ull << 31) - 1},
               st[3] = {ld, (1ull << 37) - 16, 16};
    cuuint32_t b[4] = {64, BM, 1, 1};
    r = enc(&t4.r[k], CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, x, d, st, b, es,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r) printf("4-D %d\n", r);
    r = enc(&t4s.r[k], CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, x, d, st, b, es,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r) printf("4-D sw %d\n", r);
  }
  int sm = 4 * BM * BK * 2 + 1024;
  cudaFuncSetAttribute(stream<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
  cudaFuncSetAttribute(stream<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
  __nv_bfloat16* d;
  CK(cudaMalloc(&d, BM * BK * 2));
  std::vector<__nv_bfloat16> o(BM * BK);
  int bad = 0;
  int cases[][2] = {{0, 37},           {5, 6},         {100, 164},     {1000, 1129},
                    {65000, 65536},    {65535, 65536}, {40000, 65533}, {7, 7 + 64 * 9 + 1},
                    {11, 12 + 64 * 3}, {1, 2},         {3, 66},        {13, 1000},
                    {64, 128},         {65, 127},      {4, 8}};
  int ci = -1;
  for (auto& c : cases) {
    if (++ci != only && only >= 0) continue;
    stream<4><<<1, 32, sm>>>(t4, BM, BK, 1, c[0], c[1], 1, d);
    {
      cudaError_t e = cudaDeviceSynchronize();
      if (e) {
        printf("[%d,%d) %s\n", c[0], c[1], cudaGetErrorString(e));
        return 1;
      }
    }
    CK(cudaMemcpy(o.data(), d, BM * BK * 2, cudaMemcpyDeviceToHost));
    int L = c[1] - c[0], k0 = (L - 1) / BK * BK, wrong = 0;
    for (int m = 0; m < BM; m++)
      for (int k = 0; k < BK; k++) {
        float w = (k0 + k < L) ? (float)(((c[0] + k0 + k) + 3 * m) % 251 + 1) : 0.f;
        if ((float)o[m * BK + k] != w) wrong++;
      }
    bad += wrong;
    printf("[%d,%d) end mod 8 = %d: %d wrong\n", c[0], c[1], c[1] % 8, wrong);
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
    printf("%-40s %.3f ms %.0f GB/s %s\n", n, best, bytes / best / 1e6,
           cudaGetErrorString(cudaGetLastError()));
  };
  if (only == 99)
    for (int beg : {0, 8, 1, 5}) {
      int tok = 2048, reps = 64;
      double by = 132.0 * reps * tok * BM * 2;
      printf("begin %d\n", beg);
      tm(
          "2-D", [&] { stream<2><<<132, 32, sm>>>(t2, BM, BK, 32, beg, beg + tok, reps, nullptr); },
          by);
      tm(
          "4-D ragged",
          [&] { stream<4><<<132, 32, sm>>>(t4s, BM, BK, 32, beg, beg + tok, reps, nullptr); }, by);
    }
  printf("total wrong %d\n", bad);
  return bad != 0;
}
