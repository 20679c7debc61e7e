# warpmark_folder(NAME [FOLDERS lower...] [LIBRARIES external...]): src/NAME as the static library warpmark_NAME. Files
# under a folder named "module" belong to the CUDA module instead.
function(warpmark_folder name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;LIBRARIES" ${ARGN})
  list(TRANSFORM ARG_FOLDERS PREPEND warpmark_)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/module/")
  if(sources)
    add_library(warpmark_${name} STATIC ${sources})
    target_include_directories(warpmark_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(warpmark_${name} PUBLIC ${ARG_FOLDERS} ${ARG_LIBRARIES} PRIVATE warpmark_flags)
  else()  # headers only
    add_library(warpmark_${name} INTERFACE)
    target_include_directories(warpmark_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(warpmark_${name} INTERFACE ${ARG_FOLDERS} ${ARG_LIBRARIES})
  endif()
endfunction()
