#include "kernels/family.hpp"

#include <array>

#include "kernels/sm90_fp8/candidates.hpp"
#include "kernels/sm90_fp8/emulated/family.hpp"
#include "kernels/sm90_fp8/image.hpp"
#include "kernels/sm90_fp8/limits.hpp"
#include "kernels/sm90_fp8/source.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

constexpr std::array kArchitectures = {Architecture{90, "Hopper"}};

plan::Plan traced(const Problem&, const plan::Plan&, const DeviceSpec&) {
  throw RuntimeError("wgrad: the operands are FP8; a traced run needs 16-bit operands");
}

}  // namespace

extern const KernelFamily kFamily;
const KernelFamily kFamily = {.name = "sm90_fp8",
                              .architectures = kArchitectures,
                              .ran_on_silicon = false,
                              .takes = is_fp8_by_rows,
                              .limits = limits,
                              .candidates = candidates,
                              .source = source_of,
                              .check_operands = check_operands,
                              .image = image,
                              .traced = traced,
                              .emulated = emulated};

}  // namespace wgrad::kernels::sm90_fp8
