#include "harness/cases/instance.hpp"

#include "wgrad/reference.hpp"

namespace wgrad::harness {

CaseData::CaseData(const Case& c)
    : source(c),
      logical(draw(c)),
      a(operand_image(c, logical.a, c.problem.a_major, c.a_pad)),
      b(operand_image(c, logical.b, c.problem.b_major, c.b_pad)),
      sfa(scale_image(c, logical.a)),
      sfb(scale_image(c, logical.b)),
      output(c) {}

Buffer Instance::input(std::span<const std::uint8_t> bytes) {
  Buffer buffer(device_, bytes);
  if (!bytes.empty()) buffer.protect();
  return buffer;
}

template <typename T>
Buffer Instance::input_of(const std::vector<T>& values) {
  return input(
      std::span(reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)));
}

Instance::Instance(const CaseData& data, std::shared_ptr<Device> device)
    : data_(data),
      device_(std::move(device)),
      a_(input(data.a.bytes)),
      b_(input(data.b.bytes)),
      sfa_(input(data.sfa.bytes)),
      sfb_(input(data.sfb.bytes)),
      offsets_(input_of(offsets(data.source))),
      global_a_(input_of(data.logical.a.global_scales)),
      global_b_(input_of(data.logical.b.global_scales)),
      wgrad_(device_, data.output.bytes()) {
  operands_.tokens = tokens(data.source);
  operands_.a = a_.data();
  operands_.b = b_.data();
  operands_.a_ld = data.a.ld;
  operands_.b_ld = data.b.ld;
  operands_.offsets = static_cast<const std::int32_t*>(offsets_.data());
  operands_.sfa = sfa_.data();
  operands_.sfb = sfb_.data();
  operands_.sfa_cols = data.sfa.cols;
  operands_.sfb_cols = data.sfb.cols;
  operands_.global_scale_a = static_cast<const float*>(global_a_.data());
  operands_.global_scale_b = static_cast<const float*>(global_b_.data());
  auto* base = static_cast<std::uint8_t*>(wgrad_.data());
  if (data.source.problem.output_mode == OutputMode::kDense) {
    operands_.wgrad = base + data.output.expert_offset(0);
  } else {
    std::vector<std::int64_t> ptrs;
    for (std::size_t e = 0; e < data.source.counts.size(); ++e) {
      ptrs.push_back(reinterpret_cast<std::int64_t>(base + data.output.expert_offset(e)));
    }
    ptrs_ = input_of(ptrs);
    operands_.wgrad_ptrs = static_cast<const std::int64_t*>(ptrs_.data());
  }
}

void Instance::reset_output() {
  wgrad_.upload(data_.output.bytes());
}

Bytes Instance::output() const {
  device_->synchronize();
  return wgrad_.download();
}

Bytes oracle_output(const CaseData& data) {
  Instance instance(data, host_device());
  reference::run(problem(data.source), instance.operands());
  return instance.output();
}

}  // namespace wgrad::harness
