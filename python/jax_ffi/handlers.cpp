#include "handlers.hpp"

#include <exception>

#include "attributes.hpp"
#include "buffers.hpp"
#include "operators.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/precompile.hpp"
#include "wgrad/support.hpp"

namespace wgrad::jax {
namespace {

namespace ffi = xla::ffi;

/// What `work` throws, as XLA's error.
template <class Work>
ffi::Error guarded(const Work& work) {
  try {
    work();
    return ffi::Error::Success();
  } catch (const ValueError& error) {
    return {ffi::ErrorCode::kInvalidArgument, error.what()};
  } catch (const std::exception& error) {
    return {ffi::ErrorCode::kFailedPrecondition, error.what()};
  }
}

void run(const ffi::Dictionary& attributes, const call::Place& place, void* stream,
         ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  const auto op = operators().get(attributes, place);
  call::Call call;
  call.problem = op->contract().problem;
  call.operands = read_buffers(call.problem, arguments, results);
  call.operands.stream = stream;
  call.operands.device = place.ordinal;
  op->run(call);
}

ffi::Error instantiate_on_cpu(ffi::Dictionary attributes) {
  return guarded([&] { operators().get(attributes, {}); });
}

ffi::Error execute_on_cpu(ffi::RemainingArgs arguments, ffi::RemainingRets results,
                          ffi::Dictionary attributes) {
  return guarded([&] { run(attributes, {}, nullptr, arguments, results); });
}

/// Which device will execute is not known yet, so none is touched: a context takes memory of it.
ffi::Error instantiate_on_cuda(ffi::Dictionary attributes) {
  return guarded([&] {
    const call::Contract contract = read_contract(attributes, {DeviceKind::kCuda, 0});
    const DeviceSpec device = call::device_of(contract);
    throw_if_unsupported(check_support(contract.problem, device, contract.preparation.backend));
    precompile({&contract.problem, 1}, device);
  });
}

ffi::Error initialize_on_cuda(std::int32_t ordinal, ffi::RemainingArgs, ffi::RemainingRets,
                              ffi::Dictionary attributes) {
  return guarded([&] { operators().get(attributes, {DeviceKind::kCuda, ordinal}); });
}

ffi::Error execute_on_cuda(void* stream, std::int32_t ordinal, ffi::RemainingArgs arguments,
                           ffi::RemainingRets results, ffi::Dictionary attributes) {
  return guarded([&] {
    run(attributes, {DeviceKind::kCuda, ordinal}, stream, arguments, results);
  });
}

}  // namespace

XLA_FFI_Error* cpu_instantiate(XLA_FFI_CallFrame* frame) {
  static auto* const kHandler =
      ffi::Ffi::BindInstantiate().Attrs().To(instantiate_on_cpu).release();
  return kHandler->Call(frame);
}

XLA_FFI_Error* cpu_execute(XLA_FFI_CallFrame* frame) {
  static auto* const kHandler =
      ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs().To(execute_on_cpu).release();
  return kHandler->Call(frame);
}

XLA_FFI_Error* cuda_instantiate(XLA_FFI_CallFrame* frame) {
  static auto* const kHandler =
      ffi::Ffi::BindInstantiate().Attrs().To(instantiate_on_cuda).release();
  return kHandler->Call(frame);
}

XLA_FFI_Error* cuda_initialize(XLA_FFI_CallFrame* frame) {
  static auto* const kHandler = ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>()
                                    .Ctx<ffi::DeviceOrdinal>()
                                    .RemainingArgs()
                                    .RemainingRets()
                                    .Attrs()
                                    .To(initialize_on_cuda)
                                    .release();
  return kHandler->Call(frame);
}

XLA_FFI_Error* cuda_execute(XLA_FFI_CallFrame* frame) {
  static auto* const kHandler = ffi::Ffi::Bind()
                                    .Ctx<ffi::PlatformStream<void*>>()
                                    .Ctx<ffi::DeviceOrdinal>()
                                    .RemainingArgs()
                                    .RemainingRets()
                                    .Attrs()
                                    .To(execute_on_cuda, {ffi::Traits::kCmdBufferCompatible})
                                    .release();
  return kHandler->Call(frame);
}

}  // namespace wgrad::jax
