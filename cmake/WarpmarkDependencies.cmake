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

# warpmark_import(PREFIX TARGET header library [PATH_SUFFIXES ...]): a library without a CMake package. PREFIX_INCLUDE and
# PREFIX_LIBRARY tell where it is, and can be given.
function(warpmark_import prefix target header library)
  find_path(${prefix}_INCLUDE ${header} ${ARGN} REQUIRED)
  find_library(${prefix}_LIBRARY ${library} ${ARGN} REQUIRED)
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${${prefix}_INCLUDE}
    INTERFACE_LINK_LIBRARIES ${${prefix}_LIBRARY})
endfunction()

# The OpenMP build of OpenBLAS shares one thread pool with oneDNN and with our own kernels. Loaded at run time
# (src/workloads/cpu_libraries.h), by way of the executable's RPATH; ./dev dist packs it.
warpmark_import(OPENBLAS OpenBLAS::openblas cblas.h openblas
  PATH_SUFFIXES openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp)
add_library(OpenBLAS::headers INTERFACE IMPORTED)
set_target_properties(OpenBLAS::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${OPENBLAS_INCLUDE})
get_filename_component(OPENBLAS_FOLDER ${OPENBLAS_LIBRARY} DIRECTORY)
list(APPEND CMAKE_BUILD_RPATH ${OPENBLAS_FOLDER})

# Debian's dnnl-config.cmake demands OpenCL's development files, which the CPU engine does not use.
warpmark_import(DNNL DNNL::dnnl dnnl.hpp dnnl)
# None of these comes with a CMake package in Debian 12.
warpmark_import(ISAL ISAL::isal isa-l/igzip_lib.h isal)
warpmark_import(ZSTD ZSTD::zstd zstd.h zstd)
warpmark_import(RE2 RE2::re2 re2/re2.h re2)
# Loaded at run time; ./dev dist packs it.
find_path(LIBDW_INCLUDE elfutils/libdwfl.h REQUIRED)
find_library(LIBDW_LIBRARY dw REQUIRED)
warpmark_import(UTF8PROC UTF8PROC::utf8proc utf8proc.h utf8proc)
warpmark_import(PCRE2 PCRE2::pcre2 pcre2.h pcre2-8)
warpmark_import(SENTENCEPIECE SENTENCEPIECE::sentencepiece sentencepiece_processor.h sentencepiece)
warpmark_import(XLSXWRITER XLSXWRITER::xlsxwriter xlsxwriter.h xlsxwriter)
