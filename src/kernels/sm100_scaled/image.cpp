#include "kernels/sm100_scaled/image.hpp"

#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm90_scaled/image.hpp"
#include "wgrad/sm100_scaled/tensor_map.hpp"

namespace wgrad::kernels::sm100_scaled {

LaunchImage image(const Problem& p, const plan::Plan& plan, const Operands& o) {
  return sm90_scaled::image_of<LaunchConfig>(p, plan, o);
}

}  // namespace wgrad::kernels::sm100_scaled
