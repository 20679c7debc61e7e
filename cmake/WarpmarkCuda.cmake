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
    set(WARPMARK_HAS_CUDA TRUE)
  endif()
endif()

if(WARPMARK_HAS_CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/src/device/*.cu ${CMAKE_SOURCE_DIR}/src/device/cuda/module/*.cpp
    ${CMAKE_SOURCE_DIR}/src/workloads/*.cu ${CMAKE_SOURCE_DIR}/src/workloads/module/*.cpp)
  add_library(warpmark_cuda MODULE ${cuda_sources})
  # Machine code for A100 and H100 (with the Hopper-only instructions of sm_90a), PTX for everything newer.
  target_compile_options(warpmark_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
    -gencode=arch=compute_80,code=[sm_80,compute_80] -gencode=arch=compute_90a,code=sm_90a
    --expt-relaxed-constexpr -lineinfo>)
  target_include_directories(warpmark_cuda PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  get_filename_component(cuda_bin ${NVCC} REALPATH)
  get_filename_component(cuda_root ${cuda_bin}/../.. ABSOLUTE)
  target_include_directories(warpmark_cuda SYSTEM PRIVATE ${cuda_root}/include)
  target_link_libraries(warpmark_cuda PRIVATE warpmark_measure warpmark_device warpmark_stats warpmark_model warpmark_base
    ${cuda_root}/lib/libcudart_static.a rt ${CMAKE_DL_LIBS})
  target_link_options(warpmark_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,defs)
  set_target_properties(warpmark_cuda PROPERTIES
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    CUDA_RUNTIME_LIBRARY None LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  message(STATUS "CUDA module: built with ${NVCC}")
else()
  message(STATUS "CUDA module: not built (no nvcc, or a sanitizer build)")
endif()
