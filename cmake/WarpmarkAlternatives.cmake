# Folders of src/ that stand for one another: written for one kind of processor or one version of a library. The build
# compiles the one that fits, and no source asks which it is.
#
#   x86_64/ portable/    processors; "portable" is any other (Armv8: Grace, Graviton)
#   onednn2/ onednn3/    what oneDNN 2 and 3 spell differently (src/workloads/onednn_primitives.h)
#
# A header x86_64/NAME.h with its twin portable/NAME.h is included as "generated/NAME.h".
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(WARPMARK_PROCESSOR x86_64)
  set(other_processor portable)
else()
  set(WARPMARK_PROCESSOR portable)
  set(other_processor x86_64)
  target_compile_options(warpmark_flags INTERFACE -fsigned-char)  # as on x86-64; Armv8 has unsigned ones by default
  target_compile_options(warpmark_flags INTERFACE -Wno-psabi)  # a note on how GCC 9 passed arguments, for each use of Boost
endif()

file(STRINGS ${DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h dnnl_major REGEX "define DNNL_VERSION_MAJOR +[0-9]+")
string(REGEX MATCH "[0-9]+" dnnl_major "${dnnl_major}")
if(dnnl_major EQUAL 2)
  set(other_onednn onednn3)
elseif(dnnl_major EQUAL 3)
  set(other_onednn onednn2)
else()
  message(FATAL_ERROR "oneDNN '${dnnl_major}' in ${DNNL_INCLUDE}: warpmark is written for oneDNN 2 and 3")
endif()
set(WARPMARK_OTHER_FOLDERS "${other_processor}|${other_onednn}")

file(GLOB_RECURSE twins CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.h)
list(FILTER twins INCLUDE REGEX "/portable/")
foreach(twin IN LISTS twins)
  string(REPLACE /portable/ /${WARPMARK_PROCESSOR}/ chosen ${twin})
  cmake_path(RELATIVE_PATH chosen BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
  cmake_path(GET chosen FILENAME name)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/generated/${name}
       CONTENT "#pragma once\n#include \"${chosen}\"\n")
endforeach()

# Other compilers than GCC know no "#pragma GCC target": the instructions of a file are an option there.
if(WARPMARK_PROCESSOR STREQUAL x86_64 AND NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  foreach(kernels attention/x86_64/flash_kernels memory/x86_64/kernels)
    set_source_files_properties(${CMAKE_SOURCE_DIR}/src/workloads/${kernels}_avx2.cpp
                                PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/src/workloads/${kernels}_avx512.cpp
                                PROPERTIES COMPILE_OPTIONS "-mavx512f;-mfma;-mf16c")
  endforeach()
endif()
