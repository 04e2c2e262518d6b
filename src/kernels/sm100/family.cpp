#include "kernels/family.hpp"

#include <array>

#include "kernels/sm100/candidates.hpp"
#include "kernels/sm100/emulated/family.hpp"
#include "kernels/sm100/image.hpp"
#include "kernels/sm100/limits.hpp"
#include "kernels/sm100/source.hpp"
#include "kernels/sm100/traced.hpp"

namespace wgrad::kernels::sm100 {
namespace {

constexpr std::array kArchitectures = {Architecture{100, "Blackwell"},
                                       Architecture{103, "Blackwell Ultra"}};

bool takes(const Problem& problem) {
  return !problem.scales.has_value();
}

}  // namespace

extern const KernelFamily kFamily;
const KernelFamily kFamily = {.name = "sm100",
                              .architectures = kArchitectures,
                              .ran_on_silicon = false,
                              .takes = takes,
                              .limits = limits,
                              .candidates = candidates,
                              .source = source_of,
                              .check_operands = check_operands,
                              .image = image,
                              .traced = traced,
                              .read_trace = timeline,
                              .emulated = emulated};

}  // namespace wgrad::kernels::sm100
