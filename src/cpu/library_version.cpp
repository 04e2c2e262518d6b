#include "cpu/library_version.hpp"

#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>

namespace wgrad::cpu {
namespace {

/// The sets that both 2.6 and 3.x know by name; others are numbers.
std::string name_of(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 with VNNI";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 with VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 with BF16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX-512 with AMX";
#if DNNL_VERSION_MAJOR >= 3
    case dnnl::cpu_isa::avx2_vnni_2:
      return "AVX2 with VNNI and BF16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "AVX-512 with FP16";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "AVX-512 with AMX FP16";
#endif
    default:
      return fmt::format("instruction set {:#x}", static_cast<unsigned>(isa));
  }
}

}  // namespace

LibraryVersion library_version() {
  const dnnl_version_t& v = *dnnl_version();
  return {fmt::format("{}.{}.{}", v.major, v.minor, v.patch),
          fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH),
          name_of(dnnl::get_effective_cpu_isa())};
}

}  // namespace wgrad::cpu
