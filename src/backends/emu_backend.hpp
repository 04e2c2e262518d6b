// The SM90 kernel on the emulated machine, behind the Backend interface: used only when named in
// PrepareOptions::backend. Its device is a DeviceSpec of kind kCuda and arch 90 written by hand,
// with a name that begins with "emulated"; its memory is the host's.
#pragma once

#include "backends/backend.hpp"

namespace wgrad::backends {

const Backend& emu_backend();

}  // namespace wgrad::backends
