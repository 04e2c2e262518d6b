// Calls of quantisation through the driver's path on a CPU: a fake driver runs the emulated kernels
// with the parameters that it was passed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quantize/device_quantizer.hpp"
#include "support/driver/fake_driver.hpp"

namespace wgrad::quantize {

class EmulatedQuantizer {
 public:
  explicit EmulatedQuantizer(std::uint64_t seed = 1);

  /// Memory that launches may read, or write, beside the call's own.
  struct Region {
    std::string name;
    const void* data = nullptr;
    std::size_t bytes = 0;
    bool writable = false;
  };

  /// Throws std::runtime_error with the machine's report of a fault.
  void run(const DeviceQuantization& call, const std::vector<Region>& memory,
           bool validate = false);

  launch::FakeDriver& driver() { return fake_; }
  DeviceQuantizer& quantizer() { return *quantizer_; }

 private:
  void emulate(const launch::RecordedLaunch& launch);

  std::uint64_t seed_;
  launch::FakeDriver fake_;
  std::unique_ptr<launch::Runtime> runtime_;
  std::unique_ptr<DeviceQuantizer> quantizer_;
  std::vector<Step> expected_;
  std::size_t next_ = 0;
  const std::vector<Region>* memory_ = nullptr;
  std::string fault_;
};

}  // namespace wgrad::quantize
