// What the attributes of a custom call state: the Problem, field by field, named as wgrad.Problem
// names them in Python.
#pragma once

#include <xla/ffi/api/ffi.h>

#include <string_view>

#include "wgrad/device_spec.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::jax {

/// All that prepare() needs but the device.
struct Statement {
  Problem problem;
  PrepareOptions options;
  int sm_limit = 0;  ///< multiprocessors a launch may use; 0: all
};

/// Throws ValueError for an attribute that is missing, of another type or without a meaning.
Statement read_statement(const xla::ffi::Dictionary& attributes);

/// The attribute `key`: equal for calls with equal statements. Valid as long as the call frame.
std::string_view key_of(const xla::ffi::Dictionary& attributes);

/// `device` with no more multiprocessors than the statement allows.
DeviceSpec limited(DeviceSpec device, const Statement& statement);

}  // namespace wgrad::jax
