// A call as a front end states it, tensors and options, and what it amounts to: a Problem, Operands
// and a place. A front end fills a Tensors and an Options, then
//
//   call::Call call = call::read_call(tensors, options, {call::Api::kCall});  // or a Refusal
//   call.operands.stream = stream;                                            // on a GPU
//   operators.get(call)->run(call);                                           // operator.hpp
//
// within in_words_of(Api), so that a refusal names the arguments as the caller does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "call/options.hpp"
#include "call/refusals.hpp"
#include "call/tensor_view.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::call {

/// How the results are reached.
enum class OutputForm : std::uint8_t {
  kStacked,   ///< one (E, M, N) tensor, whatever the output mode is called
  kPointers,  ///< an (E,) table of addresses
};

/// The tensors of a call in A/B orientation: a is (M, T), b is (T, N).
struct Tensors {
  TensorView a, b, offsets;
  std::optional<TensorView> sfa, sfb, global_scale_a, global_scale_b, wgrad, wgrad_ptrs, workspace;
  std::vector<TensorView> outputs;  ///< E separate tensors instead of wgrad_ptrs
};

/// In whose words a call is read, and for what.
struct Reading {
  Api api = Api::kCall;
  OutputForm form = OutputForm::kStacked;
  /// Of the operator that shall run the call, where there is one: it settles what the tensors leave
  /// open, the major of an operand with an extent of 0 or 1, the dtype behind a table of addresses
  /// and the tokens a scale factor covers.
  const Problem* compiled = nullptr;
  /// Whether the tensors hold what they will when the call runs. Samples, and what stands for
  /// arrays that are not there yet, tell shapes alone: no value of theirs is judged.
  bool holds_data = true;
};

struct Call {
  Problem problem;
  Operands operands;  ///< stream is the launcher's to fill in
  Place place;
  Preparation preparation;
  bool a_open = false;  ///< A's major could as well be the other: no token, or one
  bool b_open = false;
  bool holds_data = true;               ///< as Reading says
  std::vector<std::int64_t> addresses;  ///< host table behind operands.wgrad_ptrs, of `outputs`
};

/// Bytes of a caller's workspace: what the reference's operator needs, room for whatever a kernel
/// may come to keep there. 128 for each expert and descriptor: A, B, SFA, SFB, and the outputs
/// where `pointers`.
std::int64_t workspace_bytes(std::int64_t experts, bool pointers);

/// Throws ValueError for tensors that do not fit together, with every reason it could find, fields
/// named as the core names them. Limits on the problem itself are the core's to judge, when an
/// operator is made. Tensors without an output make a call that can be judged and compiled.
Call read_call(const Tensors& tensors, const Options& options, const Reading& reading);

/// Adds tensors.wgrad to a call that was read without it. Throws as read_call() does.
void read_given_output(Call& call, const Tensors& tensors, const Options& options,
                       const Reading& reading);

/// Adds to `reasons` why a call is refused all else that can be judged of it.
void add_all_reasons(Reasons& reasons, const Call& call);

/// Calls `body`; what it refuses is told together with all else that can be judged of `call`.
template <class Body>
auto with_all_reasons(const Call& call, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    const auto* refusal = dynamic_cast<const Refusal*>(&error);
    if (refusal == nullptr) throw;
    Reasons reasons = refusal->reasons();
    add_all_reasons(reasons, call);
    throw_if_unsupported({std::move(reasons)});
    throw;
  }
}

/// Refuses a call whose output is missing, or of another form.
void need_output(OutputForm form, const Tensors& tensors);

}  // namespace wgrad::call
