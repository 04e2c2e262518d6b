#include "kernels/family.hpp"

#include <array>

#include "kernels/sm90/candidates.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/emulated/family.hpp"
#include "kernels/sm90/image.hpp"
#include "kernels/sm90/limits.hpp"
#include "kernels/sm90/source.hpp"
#include "kernels/sm90/timeline.hpp"
#include "kernels/sm90/traced.hpp"

namespace wgrad::kernels::sm90 {
namespace {

constexpr std::array kArchitectures = {Architecture{90, "Hopper"}};

bool takes(const Problem& problem) {
  return !problem.scales;
}

}  // namespace

extern const KernelFamily kFamily;
const KernelFamily kFamily = {.name = "sm90",
                              .architectures = kArchitectures,
                              .takes = takes,
                              .limits = limits,
                              .candidates = candidates,
                              .source = source_of,
                              .check_operands = check_operands,
                              .image = image,
                              .traced = traced,
                              .read_trace = timeline,
                              .emulated = emulated};

}  // namespace wgrad::kernels::sm90
