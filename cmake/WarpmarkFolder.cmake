# warpmark_folder(NAME [COMPUTES | ONCE] [FOLDERS lower...] [LIBRARIES external...]): src/NAME as the static library
# warpmark_NAME. Files under a folder named "module" belong to the CUDA module instead. COMPUTES: its loops are what users
# wait for, so it is compiled with -O3 in a release. ONCE: its code runs once a command, between waiting for measurements and
# for a person, and -O1 takes the compiler a quarter less time than the -O2 of all others. Folders for other processors and
# libraries than those at hand are left out (WarpmarkAlternatives.cmake).
function(warpmark_folder name)
  cmake_parse_arguments(ARG "COMPUTES;ONCE" "" "FOLDERS;LIBRARIES" ${ARGN})
  list(TRANSFORM ARG_FOLDERS PREPEND warpmark_)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/module/")
  list(FILTER sources EXCLUDE REGEX "/(${WARPMARK_OTHER_FOLDERS})/")
  if(sources)
    add_library(warpmark_${name} STATIC ${sources})
    target_include_directories(warpmark_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    file(GLOB_RECURSE twins ${CMAKE_SOURCE_DIR}/src/${name}/*.h)
    list(FILTER twins INCLUDE REGEX "/portable/")
    if(twins)  # found as "generated/NAME.h"
      target_include_directories(warpmark_${name} PUBLIC ${CMAKE_BINARY_DIR}/generated)
    endif()
    target_link_libraries(warpmark_${name} PUBLIC ${ARG_FOLDERS} ${ARG_LIBRARIES} PRIVATE warpmark_flags)
    if(ARG_ONCE)
      target_compile_options(warpmark_${name} PRIVATE $<$<CONFIG:Release>:-O1;-Wno-maybe-uninitialized>)
    elseif(NOT ARG_COMPUTES)
      target_compile_options(warpmark_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
    endif()
    warpmark_unity(warpmark_${name} ${sources})
  else()  # headers only
    add_library(warpmark_${name} INTERFACE)
    target_include_directories(warpmark_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(warpmark_${name} INTERFACE ${ARG_FOLDERS} ${ARG_LIBRARIES})
  endif()
endfunction()
