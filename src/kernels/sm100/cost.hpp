// A model of the SM 10.0 kernel's time, from published figures: not calibrated, since nothing has
// run on silicon. It has only to rank tile widths.
#pragma once

#include <functional>
#include <string_view>

#include "kernels/sm100/config.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::kernels::sm100 {

// Of one multiprocessor a clock, except where stated (docs/blackwell.md names the sources).
inline constexpr double kClock = 1.85e9;     // Hz: seen on B200 and B300 under load
inline constexpr double kFlops = 8192;       // dense 16-bit tensor core, 128 rows
inline constexpr double kSharedBytes = 128;  // of shared memory, whoever reads or writes
inline constexpr double kMemoryBytesPerSecond =
    7.7e12;  // data sheet; what a kernel reaches is not known
// Assumed: what Hopper's copy engine and stores reached.
inline constexpr double kCopyBytes = 62;
inline constexpr double kLoaderBytes = 10;  // ordinary loads of ragged K-major operands
inline constexpr double kStoreBytes = 34;
inline constexpr double kLaunchSeconds = 4e-6;
inline constexpr double kTileClocks = 300;  // an isolated product, its commit and the wait for it
// A K-major stage is read and written once in shared memory before it is multiplied.
inline constexpr double kPreparedBytes = 64;

struct Cost {
  double ms = 0;
  std::string_view bound;  ///< of static lifetime
};

/// What the time of a launch follows, of a kernel of any family for these chips.
struct TileModel {
  int rows = 0;  ///< of the tile that a CTA, or a pair of them, has
  int columns = 0;
  double at_once = 0;  ///< tiles
  double input_bits = 0;
  double output_bytes = 0;
  std::string_view bound;  ///< where it is not memory
  /// Of a tile of this many columns and tokens.
  std::function<double(double columns, double tokens)> clocks;
};
Cost cost_of(const TileModel& tile, const Problem& problem);

/// `config` on `device` for `problem.tokens` tokens, of which each expert has about as many.
Cost cost(const Config& config, const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm100
