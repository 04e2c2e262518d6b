// What of a call stays the same from call to call, and so makes its operator.
#pragma once

#include <string>
#include <vector>

#include "call/call.hpp"
#include "wgrad/support.hpp"

namespace wgrad::call {

struct Contract {
  Problem problem;  ///< `tokens` are those to plan for
  Place place;
  Preparation preparation;
  bool strides_open = false;  ///< read without an output: a stacked one may lie as it will
};

Contract contract_of(const Call& call);

/// Where it will run, with no more multiprocessors than it allows. Throws ValueError for a limit
/// where there are none.
DeviceSpec device_of(const Contract& contract, const DeviceSpec* by_hand = nullptr);

/// Calls see(argument, value) for each field by which operators differ, `argument` being the core's
/// name of what a refusal blames. The key and the description are made of this list alone, and
/// serves() judges it. A field that is new in one of the structures does not compile before it is
/// named here.
template <class Contracted, class See>
void each_field(const Contracted& c, See&& see);

/// Equal for calls that one operator serves: T, offsets, addresses and streams differ.
std::string key_of(const Contract& contract);
std::string key_of(const Call& call);

/// Keys of operators that serve `call` as well: those of the other majors, where it leaves them
/// open.
std::vector<std::string> other_keys(const Call& call);

/// `of` with the output's strides of `strides`.
Problem strided_as(Problem of, const Problem& strides);

/// Whether an operator of `contract` computes `call`, as the structures' own comparisons say.
bool serves(const Contract& contract, const Call& call);
/// What of them differs, in the words of a refusal; empty where `contract` serves `call`.
Reasons differences(const Call& call, const Contract& contract);

/// Strides of an output, which mean what they say beside its extents alone.
struct OutputStrides {
  const Problem& problem;
};

template <class Contracted, class See>
void each_field(const Contracted& c, See&& see) {
  // tokens: an operator serves any number.
  const auto& [experts, m, n, tokens, a_dtype, b_dtype, a_major, b_major, input_order, scales,
               wgrad_dtype, acc_dtype, output_mode, wgrad_expert_stride, wgrad_row_pitch,
               accumulate, fast_accumulation, tiling, workspace] = c.problem;
  const auto& [backend, validate_device_data, sm_limit, allow_unverified] = c.preparation;
  see("m", m);
  see("n", n);
  see("num_experts", experts);
  see("a", a_dtype);
  see("b", b_dtype);
  see("a", a_major);
  see("b", b_major);
  see("sfa", scales);
  see("wgrad", wgrad_dtype);
  see("wgrad", OutputStrides{c.problem});
  see("input_order", input_order);
  see("acc_dtype", acc_dtype);
  see("output_mode", output_mode);
  see("accumulate", accumulate);
  see("fast_accumulation", fast_accumulation);
  see("mma_tiler_mn", tiling);
  see("workspace", workspace);
  see("backend", backend);
  see("validate_device_data", validate_device_data);
  see("sm_limit", sm_limit);
  see("allow_unverified", allow_unverified);
  see("a", c.place);
}

}  // namespace wgrad::call
