#include "scales/offsets.hpp"

#include <fmt/format.h>

#include "wgrad/errors.hpp"

namespace wgrad::scales {

void check_offsets(std::span<const std::int32_t> offsets, std::int64_t tokens) {
  std::int64_t begin = 0;
  for (std::size_t e = 0; e < offsets.size(); ++e) {
    const std::int64_t end = offsets[e];
    if (end < begin || end > tokens) {
      throw ValueError(
          fmt::format("wgrad: offsets[{}] is {}; it must be from {}, the end of the expert before "
                      "it, to T = {}",
                      e, end, begin, tokens));
    }
    begin = end;
  }
}

}  // namespace wgrad::scales
