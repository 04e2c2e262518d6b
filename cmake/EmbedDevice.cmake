# cmake -DROOT=<device folder> -DOUT=<file.cpp> -P EmbedDevice.cmake
# Writes a C++ file that holds every device header as a string, under the name kernels include it by.
file(GLOB_RECURSE headers RELATIVE "${ROOT}" "${ROOT}/wgrad/*.cuh" "${ROOT}/wgrad/*.hpp")
list(FILTER headers EXCLUDE REGEX "/emu/")  # NVRTC never sees the emulated machine
list(SORT headers)

set(text "#include \"jit/device_headers.hpp\"\n\nnamespace wgrad::jit {\n\n")
string(APPEND text "std::span<const DeviceHeader> device_headers() {\n")
string(APPEND text "  static constexpr DeviceHeader kHeaders[] = {\n")
foreach(header IN LISTS headers)
  file(READ "${ROOT}/${header}" content)
  string(APPEND text "      {\"${header}\", R\"wgrad_device(${content})wgrad_device\"},\n")
endforeach()
string(APPEND text "  };\n  return kHeaders;\n}\n\n}  // namespace wgrad::jit\n")
file(WRITE "${OUT}" "${text}")
