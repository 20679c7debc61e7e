# libwarpmark.so: what other programs link (include/warpmark/*.hpp, docs/library.md). Everything of ours that it needs is in
# it, and nothing but warpmark::v0 can be seen from outside, so that neither its names nor its libraries' meet the program's.
file(GLOB library_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/warpmark/*.hpp)
add_library(warpmark_shared SHARED $<TARGET_OBJECTS:warpmark_library>)
target_link_libraries(warpmark_shared PRIVATE warpmark_exchange warpmark_validate warpmark_monitor warpmark_report
  warpmark_analyze warpmark_profile warpmark_measure warpmark_device warpmark_stats warpmark_model warpmark_base)
target_include_directories(warpmark_shared INTERFACE $<INSTALL_INTERFACE:include>)
target_compile_features(warpmark_shared INTERFACE cxx_std_20)
set(library_map ${CMAKE_SOURCE_DIR}/cmake/warpmark_library.map)
target_link_options(warpmark_shared PRIVATE
  -Wl,--version-script=${library_map} -Wl,--as-needed -Wl,-Bsymbolic -Wl,-z,defs -Wl,--disable-new-dtags)
set_property(TARGET warpmark_shared APPEND PROPERTY LINK_DEPENDS ${library_map})
set_target_properties(warpmark_shared PROPERTIES OUTPUT_NAME warpmark EXPORT_NAME warpmark
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} INSTALL_RPATH "$ORIGIN")
if(WARPMARK_SANITIZE)
  target_link_options(warpmark_shared PRIVATE -fsanitize=${WARPMARK_SANITIZE} -Wl,-z,undefs)
endif()
