// One call as the Python side states it, and the Problem and Operands it amounts to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argument_names.hpp"
#include "tensor_view.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::python {

/// Everything but tensors. Values are not judged here.
struct Options {
  Tiling tiling;
  std::optional<int> sf_vec_size;  ///< nullopt: as the scale factors' dtype says
  ScaleLayout scale_layout = ScaleLayout::kSwizzled;
  InputOrder input_order = InputOrder::kTensor2d;
  bool accumulate = false;
  std::optional<DType> wgrad_dtype;  ///< nullopt: the output's own, else the default
  DType acc_dtype = DType::kF32;
  std::string sf_fp8_dtype_override;  ///< "": not given
  std::string backend;                ///< "": the planner's choice
  bool validate_device_data = false;
  int sm_limit = 0;  ///< multiprocessors a launch may use; 0: all
};

/// How the results are reached.
enum class OutputForm : std::uint8_t {
  kStacked,   ///< one (E, M, N) tensor, whatever the output mode is called
  kPointers,  ///< an (E,) table of addresses
};

/// The tensors of a call in A/B orientation: a is (M, T), b is (T, N).
struct Arguments {
  TensorView a, b, offsets;
  std::optional<TensorView> sfa, sfb, global_scale_a, global_scale_b, wgrad, wgrad_ptrs, workspace;
  std::vector<TensorView> outputs;  ///< E separate tensors instead of wgrad_ptrs
};

struct Call {
  Problem problem;
  Operands operands;  ///< stream and device are the launcher's to fill in
  Place place;
  bool a_open = false;  ///< A's major could as well be the other: no token, or one
  bool b_open = false;
  std::vector<std::int64_t> addresses;  ///< host table behind operands.wgrad_ptrs, of `outputs`
};

/// Bytes of a caller's workspace: what the reference's operator needs, room for whatever a kernel
/// may come to keep there. 128 for each expert and descriptor: A, B, SFA, SFB, and the outputs
/// where `pointers`.
std::int64_t workspace_bytes(std::int64_t experts, bool pointers);

/// Throws ValueError for tensors that do not fit together, with every reason it could find, fields
/// named as the core names them. Limits on the problem itself are the core's to judge.
/// `compiled`, where there is one, settles what the tensors leave open: the major of an operand
/// with an extent of 0 or 1, and the dtype behind a table of addresses.
Call read_call(const Arguments& arguments, const Options& options, OutputForm form, Api api,
               const Problem* compiled = nullptr);

/// Adds arguments.wgrad to a call that was read without it. Throws as read_call() does.
void read_given_output(Call& call, const Arguments& arguments, const Options& options,
                       OutputForm form, Api api);

}  // namespace wgrad::python
