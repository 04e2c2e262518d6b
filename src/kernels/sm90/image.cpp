#include "kernels/sm90/image.hpp"

#include <algorithm>

#include "kernels/sm90/config.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::kernels::sm90 {
namespace {

constexpr std::int64_t kLdMultiple = 8;  // 16 bytes

std::int64_t map_ld(const validate::OperandView& view) {
  if (view.ld_matters) return view.ld;
  return round_up(std::max<std::int64_t>(view.width, 1), kLdMultiple);
}

}  // namespace

std::int64_t map_ld_a(const Problem& p, const Operands& o) {
  return map_ld(validate::view_a(p, o));
}
std::int64_t map_ld_b(const Problem& p, const Operands& o) {
  return map_ld(validate::view_b(p, o));
}

std::uint64_t region_address(const plan::Plan& plan, const Operands& o, std::string_view name) {
  return address(o.workspace) +
         static_cast<std::uint64_t>(std::max<std::int64_t>(plan::region_offset(plan, name), 0));
}

LaunchImage image(const Problem& p, const plan::Plan& plan, const Operands& o) {
  return image_of<LaunchConfig>(p, plan, o);
}

}  // namespace wgrad::kernels::sm90
