# warpmark_unity(TARGET sources...): where WARPMARK_UNITY is on (all presets but "dev"), files of one library are compiled as
# one, neighbours first, up to WARPMARK_UNITY_BYTES of text, so that the headers they share are parsed and the templates
# instantiated once: half the time of a build. So the names in the unnamed namespaces of a library differ. Files with code for
# other instruction sets are compiled alone. So are what needs libxlsxwriter, RE2 or OpenSSL below http, what reads YAML files
# (yaml-cpp itself is known to base/yaml.cpp only), and src/validate/judge, which needs none: libwarpmark.so then leaves those
# libraries out. Unlike CMake's own, these files name their parts by relative paths, so that a compiler cache serves all clones
# on a machine.
set(WARPMARK_UNITY_BYTES 150000 CACHE STRING "Text of the files that are compiled as one; 150 kB take a compiler 1.5 GiB")

function(warpmark_unity target)
  if(NOT WARPMARK_UNITY)
    return()
  endif()
  list(SORT ARGN)
  set(compiled)
  set(joined)
  set(total 0)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} alone LIMIT_COUNT 1 REGEX
         "^#pragma GCC target|__attribute__\\(\\(target|^#include (<(xlsxwriter|re2/)|\"base/yaml)")
    if(alone OR source MATCHES "\\.cu$|/src/(base/(yaml|sha256)|validate/judge/[a-z_]+)\\.cpp$")
      list(APPEND compiled ${source})
      continue()
    endif()
    file(SIZE ${source} bytes)
    math(EXPR total "${total} + ${bytes}")
    list(APPEND joined ${source})
  endforeach()
  math(EXPR files "(${total} + ${WARPMARK_UNITY_BYTES} - 1) / ${WARPMARK_UNITY_BYTES}")
  set(group 0)
  set(sum 0)
  set(parts)
  foreach(source IN LISTS joined)
    file(SIZE ${source} bytes)
    math(EXPR sum "${sum} + ${bytes}")
    file(RELATIVE_PATH part ${CMAKE_BINARY_DIR}/unity ${source})
    string(APPEND parts "#include \"${part}\"\n")
    math(EXPR done "${sum} * ${files}")
    math(EXPR due "(${group} + 1) * ${total}")
    if(done GREATER_EQUAL due)  # units of one size end together
      set(file ${CMAKE_BINARY_DIR}/unity/${target}_${group}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${parts}" @ONLY)
      list(APPEND compiled ${file})
      set(parts)
      math(EXPR group "${group} + 1")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${compiled}")
endfunction()
