// The extension module wgrad._jax_ffi: handlers for XLA, and what concerns all of them. It needs no
// jax to be imported.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>

#include "handlers.hpp"
#include "operators.hpp"
#include "wgrad/toolchain.hpp"

namespace wgrad::jax {
namespace {

namespace nb = nanobind;

using Stage = XLA_FFI_Error* (*)(XLA_FFI_CallFrame*);
using Fault = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;

nb::capsule capsule(Stage stage) {
  return nb::capsule(reinterpret_cast<void*>(stage));
}

nb::dict cpu_stages() {
  nb::dict stages;
  stages["instantiate"] = capsule(cpu_instantiate);
  stages["execute"] = capsule(cpu_execute);
  return stages;
}

nb::dict cuda_stages() {
  nb::dict stages;
  stages["instantiate"] = capsule(cuda_instantiate);
  stages["initialize"] = capsule(cuda_initialize);
  stages["execute"] = capsule(cuda_execute);
  return stages;
}

std::optional<Fault> fault() {
  const std::optional<DeviceFault> seen = operators().fault();
  if (!seen) return std::nullopt;
  return Fault{seen->what, seen->expert, seen->value, seen->limit};
}

}  // namespace
}  // namespace wgrad::jax

NB_MODULE(_jax_ffi, module) {
  namespace jax = wgrad::jax;
  module.doc() = "XLA's way into wgrad.";
  module.attr("api_version") = nanobind::make_tuple(XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR);
  module.def("cpu_stages", jax::cpu_stages, "Handlers by stage, for jax.ffi.register_ffi_target.");
  module.def("cuda_stages", jax::cuda_stages, "Handlers by stage, for platform 'CUDA'.");
  module.def("add_nvrtc_folder", wgrad::add_nvrtc_folder, nanobind::arg("folder"),
             "Adds a folder to look for libnvrtc in.");
  module.def("fault", jax::fault, "(what, expert, value, limit) of the first fault seen, or None.");
  module.def(
      "clear_fault", [] { jax::operators().clear_fault(); }, "Forgets it.");
  module.def(
      "clear", [] { jax::operators().clear(); }, "Forgets all operators.");
}
