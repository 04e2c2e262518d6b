#include "emu/memory/global_memory.hpp"

#include <fmt/format.h>

namespace wgrad::emu {

void GlobalMemory::add(const std::string& name, const void* address, std::uint64_t bytes,
                       Permission permission) {
  if (bytes == 0) return;
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  Allocation fresh{name, begin, begin + bytes, permission, {}};
  if (permission == Permission::kReadWrite)
    fresh.traces = ZeroedMemory<Trace>((begin % 16 + bytes + 15) / 16);
  allocations_.push_back(std::move(fresh));
}

GlobalMemory::Allocation* GlobalMemory::find(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  if (end < address) return nullptr;
  const auto holds = [&](const Allocation& a) { return address >= a.begin && end <= a.end; };
  if (last_ < allocations_.size() && holds(allocations_[last_])) return &allocations_[last_];
  for (std::size_t i = 0; i < allocations_.size(); ++i) {
    if (!holds(allocations_[i])) continue;
    last_ = i;
    return &allocations_[i];
  }
  return nullptr;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  const Allocation* nearest = nullptr;
  std::uint64_t distance = ~std::uint64_t{0};
  for (const Allocation& a : allocations_) {
    const std::uint64_t gap = address < a.begin ? a.begin - address
                              : address < a.end ? 0
                                                : address - a.end + 1;
    if (gap < distance) {
      distance = gap;
      nearest = &a;
    }
  }
  if (nearest == nullptr) return fmt::format("address {:#x}", address);
  if (address < nearest->begin)
    return fmt::format("{} bytes before {}", nearest->begin - address, nearest->name);
  if (address >= nearest->end)
    return fmt::format("{} bytes past the end of {}", address - nearest->end, nearest->name);
  return fmt::format("{} + {:#x}", nearest->name, address - nearest->begin);
}

GlobalMemory::Span GlobalMemory::span(std::uint64_t address, std::uint64_t bytes, bool write,
                                      const char* action) {
  Allocation* a = find(address, bytes);
  if (a == nullptr) {
    throw FaultError(FaultKind::kOutOfBounds, fmt::format("{} of {} bytes of global memory at {}",
                                                          action, bytes, describe(address)));
  }
  if (write && a->permission == Permission::kRead) {
    throw FaultError(FaultKind::kOutOfBounds,
                     fmt::format("{} of {} bytes of read-only global memory at {}", action, bytes,
                                 describe(address)));
  }
  Span span;
  span.bytes = reinterpret_cast<std::uint8_t*>(address);
  if (!a->traces.empty()) {
    const std::uint64_t origin = a->begin - a->begin % 16;
    const std::uint64_t first = (address - origin) / 16;
    span.trace = a->traces.data() + first;
    span.trace_count = bytes == 0 ? 0 : (address + bytes - 1 - origin) / 16 - first + 1;
  }
  return span;
}

void GlobalMemory::clear_traces() {
  for (Allocation& a : allocations_) a.traces.clear();
  stores_.clear();
  byte_stores_.clear();
  released_.clear();
  first_store_ = ~std::uint64_t{0};
  last_store_ = 0;
}

}  // namespace wgrad::emu
