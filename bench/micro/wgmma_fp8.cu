// What does a wgmma m64n8k32 (e4m3, e5m2, FP32 accumulators) compute, bit by bit? Runs the samples
// of tests/emu/machine/fp8_samples.hpp and writes the results; the emulator's arithmetic is judged
// by them.
//   nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -I tests -I .
//     bench/micro/wgmma_fp8.cu -o wgmma_fp8
//   ./wgmma_fp8 FOLDER
// wgmma_fp8.bin: for each pair of types and kind the 512 words of every sample alone, then of
// chains of four; 10 MB. wgmma_fp8.txt: digests of the same.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "emu/machine/fp8_samples.hpp"
#include "emu/machine/wgmma_samples.hpp"

using namespace wgrad::test;

// A and B in shared memory, K-major, no swizzle: core matrices of 8 rows x 16 bytes.
#define ONE(A, B)                                                   \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32." A "." B \
               " {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"                \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])     \
               : "l"(a), "l"(b)                                     \
               : "memory")
template <int kPair>
__device__ void one_wgmma(float (&d)[4], uint64_t a, uint64_t b) {
  if constexpr (kPair == 0) ONE("e4m3", "e4m3");
  if constexpr (kPair == 1) ONE("e4m3", "e5m2");
  if constexpr (kPair == 2) ONE("e5m2", "e4m3");
  if constexpr (kPair == 3) ONE("e5m2", "e5m2");
}

__device__ uint64_t descriptor(const void* at, uint32_t leading) {
  const uint32_t address = uint32_t(__cvta_generic_to_shared(at));
  return uint64_t(address >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(128 >> 4) << 32;
}

template <int kPair, int kLinks>
__global__ void multiply(const Fp8Sample* samples, uint32_t* out) {
  __shared__ __align__(128) uint8_t a[kLinks][2048], b[kLinks][256];
  const Fp8Sample* mine = samples + size_t(blockIdx.x) * kLinks;
  for (int s = 0; s < kLinks; ++s) {
    for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x) {
      const int m = i / 32, k = i % 32;
      a[s][k / 16 * 1024 + m * 16 + k % 16] = mine[s].a[m][k];
    }
    for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x) {
      const int n = i / 32, k = i % 32;
      b[s][k / 16 * 128 + n * 16 + k % 16] = mine[s].b[n][k];
    }
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = __uint_as_float(mine->c[row + i / 2 * 8][pair + i % 2]);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int s = 0; s < kLinks; ++s)
    one_wgmma<kPair>(d, descriptor(a[s], 1024), descriptor(b[s], 128));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i])::"memory");
  for (int i = 0; i < 4; ++i)
    out[size_t(blockIdx.x) * 512 + (row + i / 2 * 8) * 8 + pair + i % 2] = __float_as_uint(d[i]);
}

template <int kPair>
static std::vector<uint32_t> run(const std::vector<Fp8Sample>& samples, int links, int* failed) {
  Fp8Sample* there;
  uint32_t* out;
  const int blocks = int(samples.size()) / links;
  std::vector<uint32_t> d(size_t(blocks) * 512);
  cudaMalloc(&there, sizeof(Fp8Sample) * samples.size());
  cudaMalloc(&out, d.size() * 4);
  cudaMemcpy(there, samples.data(), sizeof(Fp8Sample) * samples.size(), cudaMemcpyHostToDevice);
  links == 1 ? multiply<kPair, 1><<<blocks, 128>>>(there, out)
             : multiply<kPair, 4><<<blocks, 128>>>(there, out);
  const cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e)), ++*failed;
  cudaMemcpy(d.data(), out, d.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(there);
  cudaFree(out);
  return d;
}
static std::vector<uint32_t> run(int pair, const std::vector<Fp8Sample>& s, int links,
                                 int* failed) {
  return pair == 0   ? run<0>(s, links, failed)
         : pair == 1 ? run<1>(s, links, failed)
         : pair == 2 ? run<2>(s, links, failed)
                     : run<3>(s, links, failed);
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "wgmma_fp8 FOLDER\n"), 2;
  FILE* digests = fopen((std::string(argv[1]) + "/wgmma_fp8.txt").c_str(), "w");
  FILE* results = fopen((std::string(argv[1]) + "/wgmma_fp8.bin").c_str(), "wb");
  if (digests == nullptr || results == nullptr) return fprintf(stderr, "cannot write\n"), 2;
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  fprintf(digests, "# %s: bench/micro/wgmma_fp8, %d samples a line\n", device.name, kFp8Samples);
  int failed = 0;
  for (int pair = 0; pair < 4; ++pair)
    for (int kind = 0; kind < kFp8Kinds; ++kind) {
      std::vector<Fp8Sample> samples;
      for (int i = 0; i < kFp8Samples; ++i)
        samples.push_back(fp8_sample(Fp8Kind(kind), kFp8Pairs[pair], uint64_t(i)));
      const auto each = run(pair, samples, 1, &failed), chained = run(pair, samples, 4, &failed);
      fprintf(digests, "%d%d|%s|%016llx|%016llx\n", kFp8Pairs[pair].a, kFp8Pairs[pair].b,
              kFp8KindNames[kind],
              (unsigned long long)digest_words(each.data(), each.size(), kDigestSeed),
              (unsigned long long)digest_words(chained.data(), chained.size(), kDigestSeed));
      fwrite(each.data(), 4, each.size(), results);
      fwrite(chained.data(), 4, chained.size(), results);
    }
  fclose(results);
  fclose(digests);
  printf(failed == 0 ? "written\n" : "FAILED\n");
  return failed;
}
