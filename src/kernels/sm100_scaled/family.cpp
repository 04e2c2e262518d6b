#include "kernels/family.hpp"

#include <array>

#include "kernels/sm100_scaled/candidates.hpp"
#include "kernels/sm100_scaled/emulated/family.hpp"
#include "kernels/sm100_scaled/image.hpp"
#include "kernels/sm100_scaled/limits.hpp"
#include "kernels/sm100_scaled/source.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::kernels::sm100_scaled {
namespace {

constexpr std::array kArchitectures = {Architecture{100, "Blackwell"},
                                       Architecture{103, "Blackwell Ultra"}};

bool takes(const Problem& problem) {
  return problem.scales && !is_fp8_by_rows(problem);
}

plan::Plan traced(const Problem&, const plan::Plan&, const DeviceSpec&) {
  throw RuntimeError("wgrad: the problem is block-scaled; a traced run needs 16-bit operands");
}

}  // namespace

extern const KernelFamily kFamily;
const KernelFamily kFamily = {.name = "sm100_scaled",
                              .architectures = kArchitectures,
                              .ran_on_silicon = false,
                              .takes = takes,
                              .limits = limits,
                              .candidates = candidates,
                              .source = source_of,
                              .check_operands = check_operands,
                              .image = image,
                              .traced = traced,
                              .emulated = emulated};

}  // namespace wgrad::kernels::sm100_scaled
