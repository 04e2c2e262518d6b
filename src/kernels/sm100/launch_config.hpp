// What a launch of an SM 10.0 or 10.3 kernel of any family is made of.
#pragma once

namespace wgrad::kernels::sm100 {

/// One compiled kernel and the launch values that are not compiled in.
template <typename Config>
struct LaunchConfigOf {
  Config kernel;
  int raster_m = 1;      ///< tile rows of one raster group
  int grid = 1;          ///< CTAs
  int smem_bytes = 0;    ///< dynamic shared memory of one CTA
  bool overlaps = true;  ///< may begin, without touching memory, under the end of the launch before
  int arch = 100;        ///< compute capability times ten: 100 or 103

  bool operator==(const LaunchConfigOf&) const = default;
};

}  // namespace wgrad::kernels::sm100
