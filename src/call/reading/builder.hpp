// A Call in the making: what the readers of its aspects share.
#pragma once

#include <string>
#include <utility>

#include "call/call.hpp"

namespace wgrad::call {

/// What of the problem the tensors said before others are compared with it.
struct Known {
  bool m = false, n = false, experts = false;
  bool formats = false;  ///< dtypes and majors of A and B, and the scale factors
};

struct CallBuilder {
  const Tensors& in;
  const Options& options;
  const Reading& reading;
  Call call{};
  Reasons reasons{};
  Known known{};

  /// How the caller calls `field`.
  std::string named(std::string_view field) const {
    return std::string(argument(reading.api, field));
  }

  void refuse(const char* rule, std::string field, std::string got, std::string need) {
    reasons.push_back({rule, std::move(field), std::move(got), std::move(need)});
  }
  bool check_rank(const TensorView& view, const char* field, int rank, const char* need);
  void check_per_expert(const TensorView& view, const char* field);
  void check_place(const TensorView& view, const std::string& field);
  /// With what the core finds broken beside them.
  void throw_refusals();
};

void read_operands(CallBuilder& builder);
void read_scales(CallBuilder& builder);
void read_output(CallBuilder& builder);

inline bool is_sixteen_bit(DType dtype) {
  return bits(dtype) == 16;
}

/// "1 token", "2 tokens".
std::string counted(std::int64_t number, const char* unit);

}  // namespace wgrad::call
