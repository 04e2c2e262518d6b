// The machine under the kernels: every instruction and special register by a name. The only #if of
// the device code. WGRAD_EMU picks the emulated machine (plain C++20), which offers the same names
// and signatures.
#pragma once

#include "wgrad/shared/element.hpp"
#include "wgrad/shared/operand.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::device {
using namespace wgrad::shared;
}

#if defined(WGRAD_EMU)
#include "wgrad/arch/emu/machine.hpp"
#else
#define WGRAD_DEVICE __device__ __forceinline__
#include "wgrad/arch/ptx/async_copy.cuh"
#include "wgrad/arch/ptx/cluster.cuh"
#include "wgrad/arch/ptx/elementwise.cuh"
#include "wgrad/arch/ptx/matrix.cuh"
#include "wgrad/arch/ptx/mbarrier.cuh"
#include "wgrad/arch/ptx/memory.cuh"
#include "wgrad/arch/ptx/packed.cuh"
#include "wgrad/arch/ptx/registers.cuh"
#include "wgrad/arch/ptx/tcgen05.cuh"
#include "wgrad/arch/ptx/tensor_memory.cuh"
#include "wgrad/arch/ptx/tensor_memory_access.cuh"
#include "wgrad/arch/ptx/threads.cuh"
#include "wgrad/arch/ptx/tma_load.cuh"
#include "wgrad/arch/ptx/tma_prefetch.cuh"
#include "wgrad/arch/ptx/tma_store.cuh"
#include "wgrad/arch/ptx/wgmma.cuh"
#endif
