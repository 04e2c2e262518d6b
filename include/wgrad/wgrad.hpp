// Everything public but the oracle: reference.hpp.
#pragma once

#include "wgrad/codec.hpp"
#include "wgrad/device_quantize.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/dtype.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/explain.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/precompile.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/quantize.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/support.hpp"
#include "wgrad/toolchain.hpp"
