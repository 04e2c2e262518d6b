// A family's list of bit_cases.hpp on the emulated machine.
#include <stdexcept>

#include "emu/bits/bit_program.hpp"
#include "emu/fuzz/kernel_plan.hpp"
#include "emu/kernels/kernel_list.hpp"
#include "launch/emulated_launch.hpp"

namespace {

using namespace wgrad;
using namespace wgrad::test;

Bytes run_emulated(const KernelCase& k, const CaseData& data) {
  Instance instance(data, aligned(host_device()));
  shared::FaultRecord record{};
  const wgrad::kernels::sm90::CompiledKernel& kernel = test::kernels()[k.kernel];
  const Problem& problem = data.source.problem;
  const emu::Outcome outcome =
      launch::launch_emulated(kernel.run, problem, case_plan(k, problem).value(),
                              instance.operands(), {.adversary = {.seed = k.seed}}, record);
  if (outcome.fault) throw std::runtime_error(outcome.fault->text());
  return instance.output();
}

}  // namespace

int main(int argc, char** argv) {
  return bit_program({argv + 1, argv + argc}, WGRAD_BIT_KERNELS(), run_emulated);
}
