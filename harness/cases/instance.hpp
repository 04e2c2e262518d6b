// A case in a device's memory, ready to run.
#pragma once

#include <memory>

#include "harness/cases/case.hpp"
#include "harness/cases/images.hpp"
#include "harness/cases/logical.hpp"
#include "harness/memory/device.hpp"
#include "wgrad/operands.hpp"

namespace wgrad::harness {

/// Host images of a case: drawn once, uploaded to as many devices as wanted.
struct CaseData {
  explicit CaseData(const Case& c);

  Case source;
  LogicalData logical;
  OperandImage a;
  OperandImage b;
  ScaleImage sfa;
  ScaleImage sfb;
  OutputImage output;
};

class Instance {
 public:
  Instance(const CaseData& data, std::shared_ptr<Device> device);

  const Operands& operands() const { return operands_; }
  Operands& operands() { return operands_; }
  /// Restores the output to what it was before the first run.
  void reset_output();
  Bytes output() const;

 private:
  Buffer input(std::span<const std::uint8_t> bytes);
  template <typename T>
  Buffer input_of(const std::vector<T>& values);

  const CaseData& data_;
  std::shared_ptr<Device> device_;
  Buffer a_, b_, sfa_, sfb_, offsets_, global_a_, global_b_, wgrad_, ptrs_;
  Operands operands_;
};

/// The output image after the oracle has run on host memory.
Bytes oracle_output(const CaseData& data);

}  // namespace wgrad::harness
