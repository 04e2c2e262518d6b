# The extension module wgrad._jax_ffi, where the headers that jaxlib ships are found: those of the
# Python that builds, or of WGRAD_JAXLIB_INCLUDE. Adds it to `extensions`.
set(WGRAD_JAXLIB_INCLUDE "" CACHE PATH "jaxlib's include folder; by default that of the Python found")
set(extensions _core)

set(include ${WGRAD_JAXLIB_INCLUDE})
if(NOT include)
  set(where "import importlib.util as u; s = u.find_spec('jaxlib'); print(s.submodule_search_locations[0] if s else '')")
  execute_process(COMMAND ${Python_EXECUTABLE} -c "${where}"
                  OUTPUT_VARIABLE jaxlib OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(include ${jaxlib}/include)
endif()
if(NOT EXISTS ${include}/xla/ffi/api/ffi.h)
  message(STATUS "wgrad: no jaxlib for ${Python_EXECUTABLE}, so no wgrad.jax")
  return()
endif()

list(APPEND extensions _jax_ffi)
nanobind_add_module(_jax_ffi BACKEND_MODULE nanobind_backend BACKEND_PYPI nanobind_backend
  NB_DOMAIN wgrad_jax NOMINSIZE
  jax_ffi/attributes.cpp
  jax_ffi/buffers.cpp
  jax_ffi/handlers.cpp
  jax_ffi/module.cpp
  jax_ffi/operators.cpp)
target_link_libraries(_jax_ffi PRIVATE wgrad_call wgrad)
wgrad_compile_options(_jax_ffi)
# Their headers are not ours to warn about.
target_include_directories(_jax_ffi SYSTEM PRIVATE ${include} ${Python_INCLUDE_DIRS}
  ${NB_DIR}/include)
