// A kernel family: all that the library knows of the kernels for one kind of device and problem, as
// one value. Families are listed in families.inc; each has a folder beside this file, which nothing
// outside it includes. Backends, launchers and the search see families and plans alone.
//
// To add one: a folder with a CMakeLists.txt and a `kFamily`, and a line in families.inc. Several
// families may serve one architecture; a problem goes to those whose limits() it does not break.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/kernel_source.hpp"
#include "kernels/launch_image.hpp"
#include "plan/plan.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"
#include "wgrad/trace.hpp"

namespace wgrad::kernels {

struct EmulatedFamily;

/// What a family offers for a problem.
struct Candidate {
  plan::AnyConfig config;
  std::string summary;  ///< one line for people
  double predicted_ms = 0;
  std::string_view bound;  ///< what limits the prediction; of static lifetime
  /// The lowest class that has any is served first, whatever its cost: what an output's bits follow
  /// must not move with a cost.
  int rank = 0;
  double cost = 0;  ///< the least of a class is best: predicted_ms, or that of a typical problem
  std::vector<plan::WorkspaceRegion> workspace = {};
};

struct Architecture {
  int arch = 0;           ///< compute capability times ten
  std::string_view chip;  ///< "Hopper"
};

/// Pure functions all; `problem` breaks no rule of the contract, `device` is of one of the
/// architectures, and `plan` was made of this family's candidates.
struct KernelFamily {
  std::string_view name;
  std::span<const Architecture> architectures;
  /// False: emulated and compiled, and not all its tests have passed on its GPU. The cuda backend
  /// then asks for DeviceSpec::allow_unverified.
  bool ran_on_silicon = true;

  /// Whether its kernels are for operands of this kind at all; nothing else is asked where not.
  bool (*takes)(const Problem& problem) = nullptr;
  /// What none of its kernels can do of `problem` on `device`.
  std::vector<Reason> (*limits)(const Problem& problem, const DeviceSpec& device) = nullptr;
  /// In any order; empty exactly when limits() is not. On an emulated device those of which a
  /// kernel was compiled for the emulated machine.
  std::vector<Candidate> (*candidates)(const Problem& problem, const DeviceSpec& device) = nullptr;
  /// What the compiler gets.
  KernelSource (*source)(const plan::Plan& plan) = nullptr;
  /// What one call asks beyond the contract. Adds nothing, and allocates nothing, where it may run.
  void (*check_operands)(std::vector<Reason>& out, const Problem& problem,
                         const Operands& operands) = nullptr;
  /// One launch. `operands` break no rule. Cheap: it is made anew for every call.
  LaunchImage (*image)(const Problem& problem, const plan::Plan& plan,
                       const Operands& operands) = nullptr;
  /// The plan with a kernel that records what its warps do when, into the workspace region "trace".
  /// Throws RuntimeError where there is none.
  plan::Plan (*traced)(const Problem& problem, const plan::Plan& plan,
                       const DeviceSpec& device) = nullptr;
  /// Of a traced plan; `workspace` holds at least workspace_bytes(plan).
  Timeline (*read_trace)(const plan::Plan& plan, std::span<const std::byte> workspace) = nullptr;
  /// Its kernels on the emulated machine; null: this build has none.
  const EmulatedFamily* (*emulated)() = nullptr;
};

/// All families, in the order of families.inc.
std::span<const KernelFamily* const> families();

}  // namespace wgrad::kernels
