// The device memory a launch may touch: registered allocations, each access checked against them.
// Asynchronous accesses to writable memory and ordinary stores leave a trace, so that unordered
// ones are reported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/fault.hpp"
#include "emu/memory/zeroed_memory.hpp"
#include "emu/order/global_scope.hpp"

namespace wgrad::emu {

enum class Permission : std::uint8_t { kRead, kReadWrite };

class GlobalMemory {
 public:
  /// Bytes at `address`, real host memory that outlives the launch. Overlapping a writable
  /// allocation with another is an error of the caller's; zero bytes are allowed.
  void add(const std::string& name, const void* address, std::uint64_t bytes,
           Permission permission);

  /// Who last touched 16 bytes of writable memory asynchronously: (cluster + 1) << 32 | operation,
  /// 0 for nobody.
  struct Trace {
    std::uint64_t writer = 0;
    std::uint64_t reader = 0;
  };

  /// Who last wrote two bytes, or one, by an ordinary store.
  struct Store {
    std::uint32_t cluster = 0;
    std::uint32_t agent = 0;
    std::uint32_t clock = 0;
  };
  /// Notes an ordinary store of `bytes`, an even number or one; each earlier one goes to `check`.
  template <typename Check>
  void note_store(std::uint64_t address, std::uint32_t bytes, const Store& store,
                  const Check& check) {
    visit_stores(address, bytes, check);
    first_store_ = std::min(first_store_, address);
    last_store_ = std::max(last_store_, address + bytes);
    if (bytes == 1) {
      byte_stores_.insert_or_assign(address, store);
      return;
    }
    for (std::uint64_t at = address / 2; at < (address + bytes) / 2; ++at)
      stores_.insert_or_assign(at, store);
  }

  /// Each ordinary store so far into `bytes` bytes goes to `check`.
  template <typename Check>
  void visit_stores(std::uint64_t address, std::uint64_t bytes, const Check& check) const {
    if (address + bytes <= first_store_ || address > last_store_) return;
    for (std::uint64_t at = address / 2; at < (address + bytes + 1) / 2; ++at) {
      if (const auto place = stores_.find(at); place != stores_.end()) check(place->second);
    }
    if (byte_stores_.empty()) return;
    for (std::uint64_t at = address; at < address + bytes; ++at) {
      if (const auto place = byte_stores_.find(at); place != byte_stores_.end())
        check(place->second);
    }
  }

  struct Span {
    std::uint8_t* bytes = nullptr;
    Trace* trace = nullptr;  // of each 16 bytes touched; null for read-only memory
    std::uint64_t trace_count = 0;
  };

  /// Throws FaultError when a byte lies outside, or is written without permission.
  Span span(std::uint64_t address, std::uint64_t bytes, bool write, const char* action);
  /// Name and offset of an address, for messages.
  std::string describe(std::uint64_t address) const;
  /// What was released at an address, at the GPU's scope.
  GlobalKnowledge& released(std::uint64_t address) { return released_[address]; }
  /// Who waits for the number at an address to change.
  std::vector<Thread*>& waiting(std::uint64_t address) { return waiting_[address]; }
  void clear_traces();

 private:
  struct Allocation {
    std::string name;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Permission permission = Permission::kRead;
    ZeroedMemory<Trace> traces;
  };
  Allocation* find(std::uint64_t address, std::uint64_t bytes);

  std::vector<Allocation> allocations_;
  std::unordered_map<std::uint64_t, Store> stores_;       // by address / 2
  std::unordered_map<std::uint64_t, Store> byte_stores_;  // of one byte, by address
  std::unordered_map<std::uint64_t, GlobalKnowledge> released_;
  std::unordered_map<std::uint64_t, std::vector<Thread*>> waiting_;
  std::uint64_t first_store_ = ~std::uint64_t{0};  // addresses between which they lie
  std::uint64_t last_store_ = 0;
  std::size_t last_ = 0;
};

}  // namespace wgrad::emu
