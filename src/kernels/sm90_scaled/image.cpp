#include "kernels/sm90_scaled/image.hpp"

#include <algorithm>

#include "kernels/sm90_scaled/config.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/sm90_scaled/tensor_map.hpp"

namespace wgrad::kernels::sm90_scaled {

void set_scaled_call(shared::ScaledParams& k, const Problem& p, const Operands& o) {
  k.sfa = address(o.sfa);
  k.sfb = address(o.sfb);
  k.sfa_cols = o.sfa_cols;
  k.sfb_cols = o.sfb_cols;
  k.global_a = address(o.global_scale_a);
  k.global_b = address(o.global_scale_b);
  k.ld_a = validate::view_a(p, o).ld;
  k.ld_b = validate::view_b(p, o).ld;
}

std::int64_t map_ld(std::int64_t ld, shared::ElementType t) {
  return round_up(std::max<std::int64_t>(ld, 1), std::int64_t{128} / shared::element_bits(t));
}

LaunchImage image(const Problem& p, const plan::Plan& plan, const Operands& o) {
  return image_of<LaunchConfig>(p, plan, o);
}

}  // namespace wgrad::kernels::sm90_scaled
