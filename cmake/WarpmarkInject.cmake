# libwarpmark_inject.so: loaded into the programs that `warpmark profile` records. Needs CUPTI's headers when it is built;
# CUPTI itself is loaded at run time. It brings its own C++ runtime, as the programs may have another.
set(WARPMARK_HAS_INJECT FALSE)
find_path(CUPTI_INCLUDE cupti.h HINTS /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include)
if(CUPTI_INCLUDE AND NOT WARPMARK_SANITIZE)
  file(GLOB inject_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/profile/module/*.cpp
    ${CMAKE_SOURCE_DIR}/src/profile/module/stacks/*.cpp)
  add_library(warpmark_inject MODULE ${inject_sources} ${CMAKE_SOURCE_DIR}/src/profile/recording/writer.cpp)
  target_include_directories(warpmark_inject PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(warpmark_inject SYSTEM PRIVATE ${CUPTI_INCLUDE} /usr/local/cuda/include)
  target_link_libraries(warpmark_inject PRIVATE warpmark_flags ${CMAKE_DL_LIBS} Threads::Threads)
  # Without the parts of the static libstdc++ that nothing uses: they ask for a newer C library than the programs may have.
  # libgcc_s is the system's, as the static one does so, too.
  target_link_options(warpmark_inject PRIVATE
    -static-libstdc++ -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,defs)
  set_target_properties(warpmark_inject PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  set(WARPMARK_HAS_INJECT TRUE)
  message(STATUS "recorder: built with CUPTI's headers in ${CUPTI_INCLUDE}")
else()
  message(STATUS "recorder: not built (no CUPTI headers, or a sanitizer build)")
endif()
