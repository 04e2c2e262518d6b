// Numbers of threads, warps and warpgroups among those of a role. Each is a type of its own: one in
// place of another does not compile.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::device {

enum class MathThread : shared::u32 {};
enum class MathWarp : shared::u32 {};
enum class MathWarpgroup : shared::u32 {};
enum class LoaderThread : shared::u32 {};  // of the producer warpgroup

}  // namespace wgrad::device
