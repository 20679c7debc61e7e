# warpmark_unity(TARGET sources...): where WARPMARK_UNITY is on (all presets but "dev"), up to eight files of one
# library are compiled as one, neighbours first, so that the headers they share are parsed and the templates instantiated once:
# most of the time of a build. So the names in the unnamed namespaces of a library differ. The rules, the readers and the parts
# of the CUDA module name the functions of their descriptors alike, and are compiled alone; so are files with code for other
# instruction sets.
function(warpmark_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WARPMARK_UNITY} UNITY_BUILD_MODE GROUP)
  set(number 0)
  list(SORT ARGN)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} alone LIMIT_COUNT 1 REGEX
         "^(extern |constinit )*const (Rule|TraceReader|Writer|CudaImplementation) |^#pragma GCC target|__attribute__\\(\\(target")
    if(alone)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    math(EXPR group "${number} / 8")
    math(EXPR number "${number} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()
