// The library's matmul on tiles, on the calling thread only.
#pragma once

#include <cstdint>
#include <memory>

#include "cpu/elements/cells.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::cpu {

/// One factor of C = A B. Float32: lines of tokens (K-major) or of rows (MN-major). Bfloat16
/// factors are packed (pack_tile.hpp), and `data` is all there is to say.
struct TileFactor {
  const void* data = nullptr;
  std::int64_t ld = 0;  ///< elements between lines
  Major major = Major::kMn;
};

struct TileExtents {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// What factors hold: float32 always works; bfloat16 where the library multiplies it natively.
enum class TileType : std::uint8_t { kF32, kBf16 };

/// Thread-safe. Results depend on the arguments' values, extents and strides only.
class TileMatmul {
 public:
  TileMatmul() = default;
  TileMatmul(const TileMatmul&) = delete;
  TileMatmul& operator=(const TileMatmul&) = delete;
  virtual ~TileMatmul() = default;

  /// C (m x n, row pitch ldc) = A (m x k) B (k x n), or += where `add`. C is not read otherwise.
  /// For bfloat16, k is a multiple of kCellTokens and ldc is n.
  virtual void multiply(const TileExtents& extents, const TileFactor& a, const TileFactor& b,
                        float* c, std::int64_t ldc, bool add) const = 0;

  /// How it wants bfloat16 factors B packed; A is always rows.
  virtual CellOrder b_order() const noexcept { return CellOrder::kPairs; }
};

/// Factors of `type`. Throws RuntimeError where the library has no bfloat16 matmul on this CPU.
std::unique_ptr<const TileMatmul> make_tile_matmul(TileType type);

/// Keeps the library on the calling thread while it lives, and gives the thread back its setting.
class SingleThreaded {
 public:
  SingleThreaded() noexcept;
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;
  ~SingleThreaded();

 private:
  int previous_;
};

}  // namespace wgrad::cpu
