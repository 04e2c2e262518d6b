// arch:: on the emulated machine: the names and signatures of arch/ptx in C++20.
#pragma once

#define WGRAD_DEVICE inline

#include "wgrad/arch/emu/copies.hpp"
#include "wgrad/arch/emu/elementwise.hpp"
#include "wgrad/arch/emu/matrix.hpp"
#include "wgrad/arch/emu/memory.hpp"
#include "wgrad/arch/emu/packed.hpp"
#include "wgrad/arch/emu/tcgen05.hpp"
#include "wgrad/arch/emu/threads.hpp"
#include "wgrad/arch/emu/wgmma.hpp"
