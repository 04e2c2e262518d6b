// How fast can an H200 write, and add into, FP32 memory by bulk copies from shared memory? Prints
// GB/s of payload and of DRAM traffic.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#define CK(x)                                                   \
  do {                                                          \
    cudaError_t e_ = (x);                                       \
    if (e_ != cudaSuccess) {                                    \
      printf("%s line %d\n", cudaGetErrorString(e_), __LINE__); \
      return 1;                                                 \
    }                                                           \
  } while (0)
template <int MODE>
__global__ void k(char* g, size_t bytes, int chunk, int inflight) {
  extern __shared__ __align__(128) char s[];
  for (int i = threadIdx.x; i < chunk * inflight / 4; i += blockDim.x) ((float*)s)[i] = 1.f + i % 7;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t sa = (uint32_t)__cvta_generic_to_shared(s);
    int slot = 0;
    for (size_t o = (size_t)blockIdx.x * chunk; o + chunk <= bytes;
         o += (size_t)gridDim.x * chunk) {
      if (MODE == 0)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(g + o),
                     "r"(sa + slot * chunk), "r"(chunk)
                     : "memory");
      else if (MODE == 1)
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(g +
                                                                                               o),
            "r"(sa + slot * chunk), "r"(chunk)
            : "memory");
      else
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;" ::
                "l"(g + o),
            "r"(sa + slot * chunk), "r"(chunk)
            : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      if (inflight == 4)
        asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory");
      else
        asm volatile("cp.async.bulk.wait_group.read 7;" ::: "memory");
      slot = (slot + 1) % inflight;
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
// as k<1>, with the L2 prefetch of the destination issued `ahead` chunks early
template <int PF>
__global__ void kp(char* g, size_t bytes, int chunk, int ahead) {
  extern __shared__ __align__(128) char s[];
  const int inflight = 4;
  for (int i = threadIdx.x; i < chunk * inflight / 4; i += blockDim.x) ((float*)s)[i] = 1.f + i % 7;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t sa = (uint32_t)__cvta_generic_to_shared(s);
    int slot = 0;
    size_t st = (size_t)gridDim.x * chunk;
    for (size_t o = (size_t)blockIdx.x * chunk; o + chunk <= bytes; o += st) {
      size_t p = o + ahead * st;
      if (PF && p + chunk <= bytes)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(g + p), "r"(chunk)
                     : "memory");
      asm volatile(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(g + o),
          "r"(sa + slot * chunk), "r"(chunk)
          : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory");
      slot = (slot + 1) % inflight;
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
__global__ void redv4(float* g, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (; i < n; i += (size_t)gridDim.x * blockDim.x)
    asm volatile("red.global.add.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(g + 4 * i), "f"(1.f), "f"(2.f),
                 "f"(3.f), "f"(4.f)
                 : "memory");
}
__global__ void redv1(float* g, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (; i < n; i += (size_t)gridDim.x * blockDim.x)
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(g + i), "f"(1.f) : "memory");
}
__global__ void rmw(float4* g, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (; i < n; i += (size_t)gridDim.x * blockDim.x) {
    float4 v = g[i];
    v.x += 1;
    v.y += 2;
    v.z += 3;
    v.w += 4;
    g[i] = v;
  }
}
int main() {
  size_t B = 6442450944ull;
  char* g;
  CK(cudaMalloc(&g, B));
  CK(cudaMemset(g, 0, B));
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  auto run = [&](const char* n, auto f, double traffic) {
    f();
    f();
    float best = 1e9, ms;
    for (int r = 0; r < 7; r++) {
      cudaEventRecord(a);
      f();
      cudaEventRecord(b);
      cudaEventSynchronize(b);
      cudaEventElapsedTime(&ms, a, b);
      if (ms < best) best = ms;
    }
    printf("%-44s %.3f ms payload %.0f GB/s traffic %.0f GB/s %s\n", n, best, B / best / 1e6,
           traffic * B / best / 1e6, cudaGetErrorString(cudaGetLastError()));
  };
  for (int inflight : {4, 8})
    for (int chunk : {4096, 8192, 16384}) {
      if (chunk * inflight > 200 * 1024) continue;
      int sm = chunk * inflight;
      cudaFuncSetAttribute(k<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
      cudaFuncSetAttribute(k<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
      cudaFuncSetAttribute(k<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
      char n[80];
      snprintf(n, 80, "bulk store chunk %d x%d, 132 CTAs", chunk, inflight);
      run(
          n, [&] { k<0><<<132, 128, sm>>>(g, B, chunk, inflight); }, 1);
      snprintf(n, 80, "bulk reduce f32 chunk %d x%d, 132 CTAs", chunk, inflight);
      run(
          n, [&] { k<1><<<132, 128, sm>>>(g, B, chunk, inflight); }, 2);
      snprintf(n, 80, "bulk reduce bf16 chunk %d x%d, 132 CTAs", chunk, inflight);
      run(
          n, [&] { k<2><<<132, 128, sm>>>(g, B, chunk, inflight); }, 2);
    }
  run(
      "float4 read+write, 132x8 CTAs", [&] { rmw<<<132 * 8, 256>>>((float4*)g, B / 16); }, 2);
  for (int ahead : {1, 4, 16}) {
    char n[80];
    int sm = 4 * 8192;
    cudaFuncSetAttribute(kp<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, sm);
    snprintf(n, 80, "reduce f32 8192 x4, L2 prefetch %d ahead", ahead);
    run(
        n, [&] { kp<1><<<132, 128, sm>>>(g, B, 8192, ahead); }, 2);
  }
  run(
      "red.v4.f32, 132x8 CTAs", [&] { redv4<<<132 * 8, 256>>>((float*)g, B / 16); }, 2);
  run(
      "red.f32, 132x8 CTAs", [&] { redv1<<<132 * 8, 256>>>((float*)g, B / 4); }, 2);
  {
    size_t S = B;
    for (size_t L : {(size_t)8 << 20, (size_t)24 << 20}) {
      B = L;
      char n[80];
      int sm = 4 * 8192;
      snprintf(n, 80, "L2-resident %zu MB x16: reduce f32", L >> 20);
      B = L;
      float best = 1e9, ms;
      for (int r = 0; r < 9; r++) {
        cudaEventRecord(a);
        for (int q = 0; q < 16; q++) k<1><<<132, 128, sm>>>(g, L, 8192, 4);
        cudaEventRecord(b);
        cudaEventSynchronize(b);
        cudaEventElapsedTime(&ms, a, b);
        if (ms < best) best = ms;
      }
      printf("%-44s payload %.0f GB/s\n", n, 16. * L / best / 1e6);
      best = 1e9;
      for (int r = 0; r < 9; r++) {
        cudaEventRecord(a);
        for (int q = 0; q < 16; q++) k<0><<<132, 128, sm>>>(g, L, 8192, 4);
        cudaEventRecord(b);
        cudaEventSynchronize(b);
        cudaEventElapsedTime(&ms, a, b);
        if (ms < best) best = ms;
      }
      printf("%-44s payload %.0f GB/s\n", "   the same, bulk store", 16. * L / best / 1e6);
      best = 1e9;
      for (int r = 0; r < 9; r++) {
        cudaEventRecord(a);
        for (int q = 0; q < 16; q++) rmw<<<132 * 8, 256>>>((float4*)g, L / 16);
        cudaEventRecord(b);
        cudaEventSynchronize(b);
        cudaEventElapsedTime(&ms, a, b);
        if (ms < best) best = ms;
      }
      printf("%-44s payload %.0f GB/s\n", "   the same, float4 read+write", 16. * L / best / 1e6);
    }
    B = S;
  }
  run(
      "cudaMemset", [&] { cudaMemsetAsync(g, 1, B); }, 1);
  return 0;
}
