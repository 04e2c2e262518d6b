# wgrad_find(PACKAGE DEBIAN_PACKAGE [options of find_package]): as find_package(... REQUIRED), with a
# message that says what to install. A macro, so that the package's targets reach the caller.
macro(wgrad_find package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "wgrad needs ${package}, which was not found. "
                        "On Debian and Ubuntu: apt-get install ${debian_package}")
  endif()
endmacro()

# wgrad_links(RESULT TARGET SOURCE): sets RESULT to ON where TARGET exists and a program of SOURCE links
# against it, else to OFF. A package may be found whose compiled library is missing.
function(wgrad_links result target source)
  set(${result} OFF PARENT_SCOPE)
  if(NOT TARGET ${target})
    return()
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/links-${result}.cpp")
  file(WRITE "${file}" "${source}\n")
  try_compile(linked "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/links-${result}" SOURCES "${file}"
    LINK_LIBRARIES ${target} CXX_STANDARD 20)
  if(linked)
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()
