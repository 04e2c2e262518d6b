// Whether a problem can run on a device, and every reason why not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad {

/// What a reason calls for: ValueError for a bad argument, RuntimeError for a missing capability.
enum class ReasonKind : std::uint8_t { kBadArgument, kMissingCapability };

/// One broken rule, as fields. Prose is made from them by to_string().
struct Reason {
  std::string rule;   ///< short stable id, e.g. "row-alignment"
  std::string field;  ///< the argument: "a", "wgrad_dtype", "mma_tiler_mn", ...
  std::string got;    ///< what was given
  std::string need;   ///< what is needed
  ReasonKind kind = ReasonKind::kBadArgument;

  bool operator==(const Reason&) const = default;
};

/// "<field> is <got>; it must be <need>".
std::string to_string(const Reason& reason);

/// Empty means yes.
struct Support {
  std::vector<Reason> reasons;

  explicit operator bool() const noexcept { return reasons.empty(); }
};

/// Whether some backend, or the one called `backend`, runs `problem` on `device`, else every
/// reason. Never throws for bad values.
Support check_support(const Problem& problem, const DeviceSpec& device,
                      std::string_view backend = "");

/// Elements between the rows of A and of B; 0: packed.
struct LeadingDimensions {
  std::int64_t a = 0;
  std::int64_t b = 0;
};

/// The same of a call whose operands lie so, with `problem.tokens` tokens: check_support() of a
/// problem alone takes it that its operands' rows are aligned.
Support check_support(const Problem& problem, const DeviceSpec& device, std::string_view backend,
                      const LeadingDimensions& lds);

/// What of `problem` and `operands` no device takes: addresses, leading dimensions, extents, an
/// output in the memory of an input. Reads nothing through them.
Support check_operands(const Problem& problem, const Operands& operands);

/// What of the data of a call no device takes, for callers whose host holds it: `offsets` (E,), or
/// empty, as Operands::offsets; `addresses` (E,), or empty, of a discrete call's outputs: null or
/// misaligned ones, outputs that share bytes with each other or with an input. run() sees data on a
/// device under validation only.
Support check_data(const Problem& problem, const Operands& operands,
                   std::span<const std::int32_t> offsets, std::span<const std::int64_t> addresses);

/// Throws ValueError (any bad argument) or RuntimeError (only missing capabilities) with all
/// reasons in one message; returns where `support` is yes. The exception is a Refusal too.
void throw_if_unsupported(const Support& support);

/// The reasons behind an exception, for callers that know the arguments by other names:
/// `dynamic_cast<const Refusal*>(&error)`.
class Refusal {
 public:
  explicit Refusal(std::vector<Reason> reasons) : reasons_(std::move(reasons)) {}
  Refusal(const Refusal&) = default;
  Refusal& operator=(const Refusal&) = default;
  virtual ~Refusal() = default;

  const std::vector<Reason>& reasons() const noexcept { return reasons_; }

 private:
  std::vector<Reason> reasons_;
};

}  // namespace wgrad
