// What the attributes of a custom call state: a contract, field by field (src/call/statement.hpp).
#pragma once

#include <xla/ffi/api/ffi.h>

#include <string_view>

#include "call/contract.hpp"

namespace wgrad::jax {

/// All that an operator needs, on `place`. Throws ValueError for an attribute that is missing, of
/// another type or without a meaning.
call::Contract read_contract(const xla::ffi::Dictionary& attributes, const call::Place& place);

/// The attribute `key`: equal for calls with equal contracts. Valid as long as the call frame.
std::string_view key_of(const xla::ffi::Dictionary& attributes);

}  // namespace wgrad::jax
