// The list of bit_cases.hpp on the emulated machine.
#include <stdexcept>

#include "backends/emu_launch.hpp"
#include "emu/bit_program.hpp"
#include "emu/kernel_list.hpp"

namespace {

using namespace wgrad;
using namespace wgrad::test;

Bytes run_emulated(const KernelCase& k, const CaseData& data) {
  Instance instance(data, aligned(host_device()));
  shared::FaultRecord record{};
  backends::EmuSettings settings;
  settings.sm_count = k.sms;
  settings.adversary.seed = k.seed;
  const emu::Outcome outcome = backends::launch_emulated(kernels()[k.kernel], data.source.problem,
                                                         instance.operands(), settings, record);
  if (outcome.fault) throw std::runtime_error(outcome.fault->text());
  return instance.output();
}

}  // namespace

int main(int argc, char** argv) {
  return bit_program(argc, argv, run_emulated);
}
