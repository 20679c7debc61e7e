# warpmark_unity(TARGET sources...): where WARPMARK_UNITY is on (all presets but "dev"), up to eight files of one
# folder are compiled as one, so that the headers they share are parsed and the templates instantiated once: most of the time
# of a build. So the names in the unnamed namespaces of a folder differ. The rules, the readers and the parts of the CUDA module
# name the functions of their descriptors alike, and are compiled alone; so are files with code for other instruction sets, and
# the fitted constants, which bench/score_analysis.py --refit moves in the executable.
function(warpmark_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WARPMARK_UNITY} UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} alone LIMIT_COUNT 1 REGEX
         "^(extern |constinit )*const (Rule|TraceReader|Writer|CudaImplementation) |^#pragma GCC target|__attribute__\\(\\(target")
    if(alone OR source MATCHES "/fitted\\.cpp$")
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED number_${folder})
      set(number_${folder} 0)
    endif()
    math(EXPR group "${number_${folder}} / 8")
    math(EXPR number_${folder} "${number_${folder}} + 1")
    string(MD5 name "${folder}")
    string(SUBSTRING ${name} 0 6 name)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
  endforeach()
endfunction()
