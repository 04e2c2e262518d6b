// Where a run's data lives. A run is prepared in host memory, which the oracle reads; the backend
// reads a mirror of it. On a CPU the mirror is the same bytes; a device keeps a copy.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace wgrad::cli {

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  /// Address, for the backend, of a mirror of `host` that lives until forget(host), or as long as
  /// this object.
  virtual void* mirror(std::span<std::byte> host) = 0;
  /// Ends the mirror of `host`; the work queued before is done by then.
  virtual void forget(std::span<std::byte> host) = 0;
  /// Makes the mirror equal to `host`.
  virtual void push(std::span<std::byte> host) = 0;
  /// Makes `host` equal to its mirror; the work queued before is done by then.
  virtual void pull(std::span<std::byte> host) = 0;
  /// Returns when the work queued on stream() is done.
  virtual void wait() = 0;
  /// Milliseconds that `work` takes, which may queue on stream(); returns when it is done.
  virtual double milliseconds(const std::function<void()>& work) = 0;
  /// The value for Operands::stream.
  virtual void* stream() = 0;
};

std::unique_ptr<Memory> host_memory();

}  // namespace wgrad::cli
