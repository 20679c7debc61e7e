# libwarpmark_cuda.so: device backend and GPU workloads. The CUDA runtime is linked statically; cuBLASLt, cuDNN, NCCL,
# NVML and CUPTI are loaded at run time, so the module starts on any machine and says what is missing.
set(WARPMARK_HAS_CUDA FALSE)
if(WARPMARK_CUDA AND NOT WARPMARK_SANITIZE)
  find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NVCC)
    set(CMAKE_CUDA_COMPILER ${NVCC})
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES OFF)  # set per target below
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # Debian 12's CMake 3.25 does not know CUDA 13's flags
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    set(WARPMARK_HAS_CUDA TRUE)
  endif()
endif()

if(WARPMARK_HAS_CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/src/device/*.cu ${CMAKE_SOURCE_DIR}/src/device/cuda/module/*.cpp
    ${CMAKE_SOURCE_DIR}/src/workloads/*.cu ${CMAKE_SOURCE_DIR}/src/workloads/module/*.cpp
    ${CMAKE_SOURCE_DIR}/src/collectives/module/*.cu ${CMAKE_SOURCE_DIR}/src/collectives/module/*.cpp)
  list(APPEND cuda_sources ${CMAKE_SOURCE_DIR}/src/collectives/calls/operation.cpp)
  list(APPEND cuda_sources ${CMAKE_SOURCE_DIR}/src/workloads/vision/reference.cpp)  # the checks of both need it
  add_library(warpmark_cuda MODULE ${cuda_sources})
  warpmark_unity(warpmark_cuda ${cuda_sources})  # what the host compiles; each kernel file stays alone
  # Machine code for A100 and H100 (with the Hopper-only instructions of sm_90a), PTX for everything newer. Kernels only
  # are compiled by nvcc; what calls them is compiled like the rest of the project, which keeps this build short.
  target_compile_options(warpmark_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
    -gencode=arch=compute_80,code=[sm_80,compute_80] -gencode=arch=compute_90a,code=sm_90a
    --expt-relaxed-constexpr -lineinfo -Xcompiler=-Wall>)
  # Without it nvcc names its intermediate files after its process id, and the names reach the symbol table: two builds differ.
  include(CheckCompilerFlag)
  check_compiler_flag(CUDA --objdir-as-tempdir NVCC_KNOWS_OBJDIR_AS_TEMPDIR)
  if(NVCC_KNOWS_OBJDIR_AS_TEMPDIR)
    target_compile_options(warpmark_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--objdir-as-tempdir>)
  endif()
  get_target_property(host_flags warpmark_flags INTERFACE_COMPILE_OPTIONS)
  target_compile_options(warpmark_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${host_flags}>")
  if(WARPMARK_WERROR)
    target_compile_options(warpmark_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endif()
  target_include_directories(warpmark_cuda PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  get_filename_component(cuda_bin ${NVCC} REALPATH)
  get_filename_component(cuda_root ${cuda_bin}/../.. ABSOLUTE)
  find_library(CUDART_STATIC cudart_static REQUIRED NO_DEFAULT_PATH
    PATHS ${cuda_root}/lib64 ${cuda_root}/lib ${cuda_root}/targets/x86_64-linux/lib)
  target_include_directories(warpmark_cuda SYSTEM PRIVATE ${cuda_root}/include)
  target_link_libraries(warpmark_cuda PRIVATE warpmark_measure warpmark_device warpmark_stats warpmark_model warpmark_base
    ${CUDART_STATIC} rt ${CMAKE_DL_LIBS})
  # The map keeps every symbol but the entry inside: the executable has its own copies of the shared folders.
  set(cuda_map ${CMAKE_SOURCE_DIR}/cmake/warpmark_cuda.map)
  target_link_options(warpmark_cuda PRIVATE
    -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,defs -Wl,--version-script=${cuda_map})
  set_property(TARGET warpmark_cuda APPEND PROPERTY LINK_DEPENDS ${cuda_map})
  set_target_properties(warpmark_cuda PROPERTIES
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    CUDA_RUNTIME_LIBRARY None LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  message(STATUS "CUDA module: built with ${NVCC}")
else()
  message(STATUS "CUDA module: not built (no nvcc, or a sanitizer build)")
endif()
