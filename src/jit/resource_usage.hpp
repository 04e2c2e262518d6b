// What a compiled kernel takes of a multiprocessor, read from the assembler's report.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wgrad::jit {

struct ResourceUsage {
  int registers = 0;          ///< a thread at entry
  int stack_bytes = 0;        ///< local memory a thread, spills included
  int spill_bytes = 0;        ///< stores and loads
  int static_smem_bytes = 0;  ///< shared memory besides the dynamic
  std::string warnings;       ///< every other line of the log

  bool operator==(const ResourceUsage&) const = default;
};

/// Reads the log of a kernel compiled with --ptxas-options=-v; nullopt where it holds no report.
std::optional<ResourceUsage> resource_usage(std::string_view log);

}  // namespace wgrad::jit
