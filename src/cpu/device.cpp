#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/parallel.hpp"
#include "wgrad/device_spec.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace wgrad {
namespace {

/// "model name" of /proc/cpuinfo; "CPU" where the kernel does not say.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

#if defined(__x86_64__)
struct CpuId {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
};

CpuId cpuid(unsigned leaf, unsigned subleaf) {
  CpuId r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

/// Register state the operating system saves (XCR0): a feature without it cannot be used.
bool system_saves(unsigned mask) {
  constexpr unsigned kOsxsave = 1U << 27;
  if ((cpuid(1, 0).c & kOsxsave) == 0) return false;
  unsigned low = 0;
  unsigned high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & mask) == mask;
}

bool has_avx512_bf16() {
  constexpr unsigned kAvx512State = 0xE6;  // SSE, AVX, opmask, upper ZMM, high ZMM
  return (cpuid(7, 1).a & 1U << 5) != 0 && system_saves(kAvx512State);
}

bool has_amx_bf16() {
  constexpr unsigned kTileState = 0x60000;  // tile configuration and data
  constexpr unsigned kNeeded = 1U << 22 | 1U << 24;
  return (cpuid(7, 0).d & kNeeded) == kNeeded && system_saves(kTileState);
}
#else
bool has_avx512_bf16() {
  return false;
}
bool has_amx_bf16() {
  return false;
}
#endif

std::int64_t l2_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  return std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 0L);
#else
  return 0;
#endif
}

}  // namespace

DeviceSpec cpu_device() {
  DeviceSpec device;
  device.kind = DeviceKind::kCpu;
  device.name = cpu_name();
  device.threads = core::usable_threads();
  device.l2_bytes = l2_bytes();
  device.avx512_bf16 = has_avx512_bf16();
  device.amx_bf16 = has_amx_bf16();
  return device;
}

}  // namespace wgrad
