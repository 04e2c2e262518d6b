// Launches through the driver's path on a CPU: a fake driver encodes tensor maps as the emulated
// machine decodes them, and runs the emulated kernel with the parameters that it was passed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "launch/driver_launch.hpp"
#include "plan/plan.hpp"
#include "support/driver/fake_driver.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::test {

/// One prepared operator. At most one lives at a time, as of fake drivers.
class EmulatedDriver {
 public:
  /// With a plan of those that the emulated GPU has for the problem, best first. Throws
  /// RuntimeError where there are not as many.
  explicit EmulatedDriver(const Problem& problem, std::size_t plan = 0);

  /// Each launch meets another schedule. Throws RuntimeError with the machine's report.
  void launch(Operands operands);

  std::int64_t workspace_bytes() const { return plan::workspace_bytes(plan_); }
  const launch::FakeDriver& fake() const { return fake_; }

 private:
  void run(const launch::RecordedLaunch& recorded);

  Problem problem_;
  plan::Plan plan_;
  launch::FakeDriver fake_;
  std::unique_ptr<launch::Runtime> runtime_ = std::make_unique<launch::Runtime>(fake_.api());
  std::unique_ptr<launch::DriverLaunch> op_;
  Operands operands_;
  std::uint64_t seed_ = 0;
  std::string fault_;
};

}  // namespace wgrad::test
