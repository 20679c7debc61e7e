# Debian's packages (packages.txt). Each is chosen for its field; docs/ARCHITECTURE.md says what it replaces.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(SQLite3 REQUIRED)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # CMake 3.30 and newer find Boost by Boost's own file
endif()
find_package(Boost REQUIRED)
find_package(OpenSSL REQUIRED)

# The OpenMP build of OpenBLAS shares one thread pool with oneDNN and with our own kernels.
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp REQUIRED)
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-openmp REQUIRED)
add_library(OpenBLAS::openblas INTERFACE IMPORTED)
set_target_properties(OpenBLAS::openblas PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${OPENBLAS_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${OPENBLAS_LIBRARY})

# Debian's dnnl-config.cmake demands OpenCL's development files, which the CPU engine does not use.
find_path(DNNL_INCLUDE dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(DNNL::dnnl INTERFACE IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${DNNL_LIBRARY})
# None of these comes with a CMake package in Debian 12.
find_path(ISAL_INCLUDE isa-l/igzip_lib.h REQUIRED)
find_library(ISAL_LIBRARY isal REQUIRED)
add_library(ISAL::isal INTERFACE IMPORTED)
set_target_properties(ISAL::isal PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${ISAL_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${ISAL_LIBRARY})
find_path(ZSTD_INCLUDE zstd.h REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)
add_library(ZSTD::zstd INTERFACE IMPORTED)
set_target_properties(ZSTD::zstd PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${ZSTD_LIBRARY})
find_path(RE2_INCLUDE re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
add_library(RE2::re2 INTERFACE IMPORTED)
set_target_properties(RE2::re2 PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${RE2_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${RE2_LIBRARY})
find_path(LIBDW_INCLUDE elfutils/libdwfl.h REQUIRED)  # loaded at run time
find_path(UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(UTF8PROC::utf8proc INTERFACE IMPORTED)
set_target_properties(UTF8PROC::utf8proc PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${UTF8PROC_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${UTF8PROC_LIBRARY})
find_path(PCRE2_INCLUDE pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
add_library(PCRE2::pcre2 INTERFACE IMPORTED)
set_target_properties(PCRE2::pcre2 PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${PCRE2_LIBRARY})
find_path(SENTENCEPIECE_INCLUDE sentencepiece_processor.h REQUIRED)
find_library(SENTENCEPIECE_LIBRARY sentencepiece REQUIRED)
add_library(SENTENCEPIECE::sentencepiece INTERFACE IMPORTED)
set_target_properties(SENTENCEPIECE::sentencepiece PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${SENTENCEPIECE_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${SENTENCEPIECE_LIBRARY})
find_path(XLSXWRITER_INCLUDE xlsxwriter.h REQUIRED)
find_library(XLSXWRITER_LIBRARY xlsxwriter REQUIRED)
add_library(XLSXWRITER::xlsxwriter INTERFACE IMPORTED)
set_target_properties(XLSXWRITER::xlsxwriter PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${XLSXWRITER_INCLUDE}
  INTERFACE_LINK_LIBRARIES ${XLSXWRITER_LIBRARY})
