# Compiler settings, the options of the build, and the warnings every target of ours is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the same objects serve the executable and the CUDA module
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

option(WARPMARK_TESTS "Build the tests" ON)
option(WARPMARK_BENCH "Build the benchmarks in bench/" OFF)
option(WARPMARK_CUDA "Build the CUDA module if nvcc is found" ON)
option(WARPMARK_UNITY "Compile several files as one (WarpmarkUnity.cmake)" OFF)
option(WARPMARK_LIBFUZZER "Build fuzz/ with libFuzzer instead of the replay of its corpus (clang)" OFF)
option(WARPMARK_COVERAGE "Count the lines and branches that run (gcov)" OFF)
option(WARPMARK_RELEASE "For others: name no folder of this machine in what is built" OFF)
set(WARPMARK_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")

# A warning is an error with the compiler the project is checked with. Another one may know new warnings, and a newcomer's
# build shall not fail for them; a sanitizer makes GCC see ghosts.
set(werror_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\."
   AND NOT WARPMARK_SANITIZE AND NOT WARPMARK_COVERAGE)
  set(werror_default ON)
endif()
option(WARPMARK_WERROR "Warnings are errors" ${werror_default})

add_library(warpmark_flags INTERFACE)
target_compile_options(warpmark_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion -Wsign-conversion
  -Wno-missing-field-initializers)  # designated initializers name what differs from the defaults
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # memory is collected from 600 MB on: a tenth of the time of a build
  target_compile_options(warpmark_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=600000>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  target_compile_options(warpmark_flags INTERFACE -Wno-restrict)  # false alarm on "text" + std::string: GCC bug 105651
endif()
if(WARPMARK_RELEASE)  # of kernels (-lineinfo) alone the folder stays
  target_compile_options(warpmark_flags INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()
if(WARPMARK_WERROR)
  target_compile_options(warpmark_flags INTERFACE -Werror)
endif()
if(WARPMARK_SANITIZE)
  # What is found ends the program, as the test presets ask for: code that could go on after it takes the compiler half as
  # long again.
  target_compile_options(warpmark_flags INTERFACE -fsanitize=${WARPMARK_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  target_link_options(warpmark_flags INTERFACE -fsanitize=${WARPMARK_SANITIZE})
endif()
if(WARPMARK_COVERAGE)  # several threads count, and programs end while others write
  target_compile_options(warpmark_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(warpmark_flags INTERFACE --coverage)
endif()
if(WARPMARK_LIBFUZZER)
  target_compile_options(warpmark_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
