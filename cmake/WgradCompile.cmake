# Compile options every target of the project shares.
function(wgrad_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
  if(WGRAD_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(WGRAD_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${WGRAD_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${WGRAD_SANITIZE})
  endif()
endfunction()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
