#include "kernels/sm100/image.hpp"

#include "kernels/sm100/config.hpp"
#include "kernels/sm90/image.hpp"

namespace wgrad::kernels::sm100 {

LaunchImage image(const Problem& p, const plan::Plan& plan, const Operands& o) {
  return sm90::image_of<LaunchConfig>(p, plan, o);
}

}  // namespace wgrad::kernels::sm100
