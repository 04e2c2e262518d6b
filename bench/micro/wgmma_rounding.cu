// What does a wgmma m64n8k16 (bf16, fp16, FP32 accumulators) compute, bit by bit? Runs the samples
// of tests/emu/machine/wgmma_samples.hpp and writes the results; they judge the emulator's
// arithmetic. Also prints whether a chain of wgmmas keeps more than FP32 between its links.
//   nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -I tests
//     bench/micro/wgmma_rounding.cu -o wgmma_rounding
//   ./wgmma_rounding FOLDER
// wgmma_results.bin: for each type and kind the 512 words of every sample alone, of chains of four,
// and of every sample with scale-d 0; 14 MB. wgmma_digests.txt: digests of the same.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "emu/machine/wgmma_samples.hpp"

#define CK(x)                                                   \
  do {                                                          \
    cudaError_t e_ = (x);                                       \
    if (e_ != cudaSuccess) {                                    \
      printf("%s line %d\n", cudaGetErrorString(e_), __LINE__); \
      return 1;                                                 \
    }                                                           \
  } while (0)

using namespace wgrad::test;

// A from registers (PTX, "Register Fragments"); B in shared memory, K-major, no swizzle: two core
// matrices of 8 rows x 16 bytes.
template <bool kFp16>
__device__ void one_wgmma(float (&d)[4], const uint32_t (&a)[4], uint64_t b, uint32_t keep) {
  if constexpr (kFp16) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, "
        "p, 1, 1, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep)
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "%8, p, 1, 1, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep)
        : "memory");
  }
}

enum Mode {
  kEach,      // every sample alone
  kWaiting,   // `links` samples into the accumulators of the first, a wait after each
  kChained,   // the same, all in flight at once
  kFresh,     // every sample alone, scale-d 0: the accumulators are not read
  kFromZero,  // every sample alone, accumulators +0
};

// links: samples that one block multiplies
template <bool kFp16, int links, Mode mode>
__global__ void multiply(const WgmmaSample* samples, uint32_t* out) {
  __shared__ __align__(128) uint16_t b[links][128];
  const WgmmaSample* mine = samples + size_t(blockIdx.x) * links;
  for (int i = threadIdx.x; i < links * 128; i += blockDim.x) {
    const int n = i % 128 / 16, k = i % 16;
    b[i / 128][k / 8 * 64 + n * 8 + k % 8] = mine[i / 128].b[n][k];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
  uint32_t a[links][4];
#pragma unroll
  for (int s = 0; s < links; ++s) {
    for (int w = 0; w < 4; ++w) {
      const int r = row + w % 2 * 8, k = pair + w / 2 * 8;
      a[s][w] = mine[s].a[r][k] | uint32_t(mine[s].a[r][k + 1]) << 16;
    }
  }
  float d[4];
  for (int i = 0; i < 4; ++i) {
    const uint32_t c = mine->c[row + i / 2 * 8][pair + i % 2];
    d[i] = mode == kFromZero ? 0.0f : __uint_as_float(c);
  }
#pragma unroll
  for (int s = 0; s < links; ++s) {
    const uint32_t address = uint32_t(__cvta_generic_to_shared(b[s]));
    const uint64_t descriptor =
        uint64_t(address >> 4) | uint64_t(128 >> 4) << 16 | uint64_t(128 >> 4) << 32;
    if (s == 0 || mode == kWaiting) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    one_wgmma<kFp16>(d, a[s], descriptor, mode == kFresh ? 0 : 1);
    if (mode == kWaiting) {
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i])::"memory");
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i])::"memory");
  for (int i = 0; i < 4; ++i) {
    out[size_t(blockIdx.x) * 512 + (row + i / 2 * 8) * 8 + pair + i % 2] = __float_as_uint(d[i]);
  }
}

using Kernel = void (*)(const WgmmaSample*, uint32_t*);
struct Way {
  Kernel kernel;
  int links;
};
template <bool kFp16>
static Way way(Mode mode) {
  switch (mode) {
    case kEach:
      return {multiply<kFp16, 1, kEach>, 1};
    case kWaiting:
      return {multiply<kFp16, 4, kWaiting>, 4};
    case kChained:
      return {multiply<kFp16, 4, kChained>, 4};
    case kFresh:
      return {multiply<kFp16, 1, kFresh>, 1};
    default:
      return {multiply<kFp16, 1, kFromZero>, 1};
  }
}

static int wrong_integers(const std::vector<WgmmaSample>& samples, const std::vector<uint32_t>& d,
                          bool fp16) {
  const auto value = [&](uint16_t raw) {
    const int places = fp16 ? 10 : 7, exponent = raw >> places & (fp16 ? 31 : 255);
    if (exponent == 0) return 0.0f;
    const float v = std::ldexp(float((raw & ((1 << places) - 1)) | 1 << places),
                               exponent - (fp16 ? 15 : 127) - places);
    return raw >> 15 ? -v : v;
  };
  int wrong = 0;
  for (size_t s = 0; s < samples.size(); ++s)
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 8; ++j) {
        float want, got;
        memcpy(&want, &samples[s].c[i][j], 4);
        memcpy(&got, &d[s * 512 + i * 8 + j], 4);
        for (int k = 0; k < 16; ++k) want += value(samples[s].a[i][k]) * value(samples[s].b[j][k]);
        wrong += want != got;
      }
  return wrong;
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "wgmma_rounding FOLDER\n"), 2;
  const std::string folder = argv[1];
  FILE* results = fopen((folder + "/wgmma_results.bin").c_str(), "wb");
  FILE* digests = fopen((folder + "/wgmma_digests.txt").c_str(), "w");
  if (results == nullptr || digests == nullptr) return fprintf(stderr, "cannot write\n"), 2;
  cudaDeviceProp device;
  CK(cudaGetDeviceProperties(&device, 0));
  int driver = 0;
  CK(cudaDriverGetVersion(&driver));
  fprintf(digests, "# %s, CUDA driver %d.%d, %d samples a line\n", device.name, driver / 1000,
          driver % 100 / 10, kSamplesOfKind);
  const size_t words = size_t{512} * kSamplesOfKind;
  WgmmaSample* samples_there;
  uint32_t* out_there;
  CK(cudaMalloc(&samples_there, sizeof(WgmmaSample) * kSamplesOfKind));
  CK(cudaMalloc(&out_there, words * 4));
  int failed = 0;
  for (int fp16 = 0; fp16 < 2; ++fp16)
    for (int kind = 0; kind < kSampleKinds; ++kind) {
      std::vector<WgmmaSample> samples;
      for (int i = 0; i < kSamplesOfKind; ++i)
        samples.push_back(wgmma_sample(SampleKind(kind), fp16 != 0, uint64_t(i)));
      CK(cudaMemcpy(samples_there, samples.data(), sizeof(WgmmaSample) * samples.size(),
                    cudaMemcpyHostToDevice));
      const auto result = [&](Mode mode) {
        const Way w = fp16 ? way<true>(mode) : way<false>(mode);
        const int blocks = kSamplesOfKind / w.links;
        std::vector<uint32_t> d(size_t(blocks) * 512);
        cudaMemset(out_there, 0xff, words * 4);
        w.kernel<<<blocks, 128>>>(samples_there, out_there);
        const cudaError_t e = cudaDeviceSynchronize();
        if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e)), ++failed;
        cudaMemcpy(d.data(), out_there, d.size() * 4, cudaMemcpyDeviceToHost);
        return d;
      };
      const auto each = result(kEach);
      fwrite(each.data(), 4, each.size(), results);
      if (kind == 0 && wrong_integers(samples, each, fp16 != 0) != 0)
        printf("WRONG LAYOUT: %d integers\n", wrong_integers(samples, each, fp16 != 0)), ++failed;
      const auto chained = result(kChained);
      const auto waiting = result(kWaiting);
      const auto fresh = result(kFresh);
      const auto zero = result(kFromZero);
      fwrite(chained.data(), 4, chained.size(), results);
      fwrite(fresh.data(), 4, fresh.size(), results);
      fprintf(digests, "%s|%s|%016llx|%016llx|%016llx\n", fp16 ? "fp16" : "bf16",
              kSampleKindNames[kind],
              (unsigned long long)digest_words(each.data(), each.size(), kDigestSeed),
              (unsigned long long)digest_words(chained.data(), chained.size(), kDigestSeed),
              (unsigned long long)digest_words(fresh.data(), fresh.size(), kDigestSeed));
      printf("%s %-14s chain of 4 %s a wait after each; scale-d 0 %s accumulators +0\n",
             fp16 ? "fp16" : "bf16", kSampleKindNames[kind],
             chained == waiting ? "equals" : "DIFFERS FROM",
             fresh == zero ? "equals" : "DIFFERS FROM");
    }
  fclose(results);
  fclose(digests);
  printf(failed == 0 ? "written\n" : "FAILED\n");
  return failed == 0 ? 0 : 1;
}
