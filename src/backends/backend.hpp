// What a backend is: it states its limits, plans, and builds something launchable.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::backends {

/// Something launchable, made for one problem and plan. Thread-safe; holds no per-run state.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  /// `operands` already follow the rules the host can see without reading device data.
  virtual void launch(const Operands& operands) const = 0;
  virtual std::optional<DeviceFault> fault() const { return std::nullopt; }
  virtual void clear_fault() const {}
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual std::string_view name() const noexcept = 0;
  /// Never chosen unless PrepareOptions::backend names it.
  virtual bool only_by_name() const noexcept { return false; }
  /// Limits beyond the contract's: wrong kind of device, formats or shapes without a kernel.
  virtual std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device) const = 0;
  /// Best first; empty exactly when limits() is not.
  virtual std::vector<plan::Plan> candidates(const Problem& problem,
                                             const DeviceSpec& device) const = 0;
  /// The same plan with a kernel that records what its warps do when, into the workspace. Throws
  /// RuntimeError where there is none.
  virtual plan::Plan traced(const Problem& problem, const plan::Plan& plan,
                            const DeviceSpec& device) const;
  virtual std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan& plan,
                                              const DeviceSpec& device,
                                              const PrepareOptions& options) const = 0;
};

/// All backends of this build, preferred first, the reference last.
std::span<const Backend* const> all();

}  // namespace wgrad::backends
