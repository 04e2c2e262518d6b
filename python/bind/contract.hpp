// What stays the same from call to call.
#pragma once

#include <string>
#include <vector>

#include "call.hpp"
#include "refuse.hpp"
#include "wgrad/support.hpp"

namespace wgrad::python {

/// The static side of a call: a key, and all that prepare() needs.
struct Contract {
  Problem problem;
  Place place;
  Options options;
  OutputForm form = OutputForm::kStacked;
  LeadingDimensions lds{};    ///< of the tensors it was read from
  bool strides_open = false;  ///< read without an output: a stacked one may lie as it will

  /// Equal for calls that one compiled operator serves: T, offsets, addresses and streams differ.
  std::string key() const;
  /// Where it will run, with no more multiprocessors than its options allow. Throws ValueError for
  /// a limit where there are none.
  DeviceSpec device(const DeviceSpec* by_hand = nullptr) const;
};

/// A Contract's key.
std::string key_of(const Problem& problem, const Place& place, const Options& options);

/// Keys of operators that serve `call` as well: those of the other majors, where it leaves them
/// open.
std::vector<std::string> other_keys(const Call& call, const Options& options);

/// Whether a call keeps the contract of an operator; token counts may differ.
bool same_contract(Problem call, const Problem& compiled);
/// What of them differs, in the words of a refusal.
Reasons differences(const Problem& call, const Problem& compiled);

}  // namespace wgrad::python
