# wgrad_find(PACKAGE DEBIAN_PACKAGE [options of find_package]): as find_package(... REQUIRED), with a
# message that says what to install. A macro, so that the package's targets reach the caller.
macro(wgrad_find package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "wgrad needs ${package}, which was not found. "
                        "On Debian and Ubuntu: apt-get install ${debian_package}")
  endif()
endmacro()
