// What a traced kernel must have left behind, of any schedule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/fuzz/kernel_case.hpp"
#include "wgrad/shared/trace.hpp"

namespace wgrad::test {

/// Room for the record of a traced kernel's run, zeroed; of no events where `c` does not trace.
std::vector<shared::TraceEvent> trace_room(const shared::Config& c, int ctas);

/// What is wrong with the record of case `k`, or nothing. `timed`: it ran under modelled time. Not
/// for kernels that accumulate: they leave empty experts out.
std::string trace_fault(const shared::Config& c, const KernelCase& k, bool timed,
                        const std::vector<shared::TraceEvent>& record);

}  // namespace wgrad::test
