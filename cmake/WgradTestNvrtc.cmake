# wgrad_jit_test(NAME sources...): a test that looks for NVRTC where the library does and in the wheel
# of the Python found here.
set(wheel_folders "")
if(Python_EXECUTABLE)
  set(WGRAD_TEST_PYTHON "${Python_EXECUTABLE}")
else()
  find_program(WGRAD_TEST_PYTHON NAMES python3 python)
endif()
if(WGRAD_TEST_PYTHON)
  execute_process(
    COMMAND "${WGRAD_TEST_PYTHON}" -c
      "import glob, sysconfig; print(*glob.glob(sysconfig.get_paths()['purelib'] + '/nvidia/*/lib'), sep=':', end='')"
    OUTPUT_VARIABLE wheel_folders ERROR_QUIET)
endif()

function(wgrad_jit_test name)
  wgrad_test(${name} ${ARGN})
  target_compile_definitions(${name} PRIVATE "WGRAD_TEST_WHEEL_FOLDERS=\"${wheel_folders}\"")
endfunction()

