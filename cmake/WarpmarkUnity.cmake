# warpmark_unity(TARGET sources...): where WARPMARK_UNITY is on (all presets but "dev"), up to eight files of one
# library are compiled as one, neighbours first, so that the headers they share are parsed and the templates instantiated once:
# most of the time of a build. So the names in the unnamed namespaces of a library differ. The rules, the readers and the parts
# of the CUDA module name the functions of their descriptors alike, and are compiled alone; so are files with code for other
# instruction sets. So are what needs libxlsxwriter, yaml-cpp, RE2 or OpenSSL below http, and src/validate/judge, which needs none: libwarpmark.so
# then leaves those libraries out. Unlike CMake's own, these files name their parts by relative paths, so that a compiler
# cache serves all clones on a machine.
function(warpmark_unity target)
  if(NOT WARPMARK_UNITY)
    return()
  endif()
  list(SORT ARGN)
  set(compiled)
  set(parts)
  set(group 0)
  set(count 0)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} alone LIMIT_COUNT 1 REGEX
         "^(extern |constinit )*const (Rule|TraceReader|Writer|CudaImplementation) |^#pragma GCC target|__attribute__\\(\\(target\
|^#include <(xlsxwriter|re2/)")
    if(alone OR source MATCHES "\\.cu$|/src/(base/(yaml|sha256)|validate/judge/[a-z_]+)\\.cpp$")
      list(APPEND compiled ${source})
      continue()
    endif()
    file(RELATIVE_PATH part ${CMAKE_BINARY_DIR}/unity ${source})
    string(APPEND parts "#include \"${part}\"\n")
    math(EXPR count "${count} + 1")
    if(count EQUAL 8)
      warpmark_unity_file()
    endif()
  endforeach()
  if(parts)
    warpmark_unity_file()
  endif()
  set_target_properties(${target} PROPERTIES SOURCES "${compiled}")
endfunction()

# Writes the parts of the caller into its next file.
macro(warpmark_unity_file)
  set(file ${CMAKE_BINARY_DIR}/unity/${target}_${group}.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "${parts}" @ONLY)
  list(APPEND compiled ${file})
  math(EXPR group "${group} + 1")
  set(parts)
  set(count 0)
endmacro()
