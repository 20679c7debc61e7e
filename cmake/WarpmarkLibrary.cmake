# libwarpmark.so: what other programs link (include/warpmark/*.hpp, docs/library.md). Everything of ours that it needs is in
# it, and nothing but warpmark::v0 can be seen from outside. SQLite, zstd, fmt and gzip are in it as well, from archives or
# from src/library/module: a call to a shared library's function would reach the program's of the same name. What calls yaml-cpp
# and RE2, of which Debian has no position-independent archives, is left out (WarpmarkUnity.cmake). It is installed in a folder
# of its own, as the folder of a library that a program links is searched for the program's other libraries, too.
file(GLOB library_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/warpmark/*.hpp)
add_library(warpmark_shared SHARED $<TARGET_OBJECTS:warpmark_library> src/library/module/fmt.cpp)
target_include_directories(warpmark_shared PRIVATE ${ISAL_INCLUDE})
target_link_libraries(warpmark_shared PRIVATE warpmark_exchange warpmark_validate warpmark_monitor warpmark_report
  warpmark_analyze warpmark_profile warpmark_measure warpmark_device warpmark_stats warpmark_model warpmark_base)
foreach(name sqlite3 zstd z)
  find_library(WARPMARK_STATIC_${name} lib${name}.a)
  mark_as_advanced(WARPMARK_STATIC_${name})
  if(NOT WARPMARK_STATIC_${name})
    message(WARNING "lib${name}.a was not found: libwarpmark.so will share ${name} with the programs that link it")
    set(WARPMARK_STATIC_${name} "")
  endif()
endforeach()
if(WARPMARK_STATIC_z)
  target_sources(warpmark_shared PRIVATE src/library/module/inflate.cpp)
endif()
# Each before the shared library of the same name, which is then not needed: behind what calls it, and SQLite, one object, as
# a whole, as warpmark_store comes later.
target_link_libraries(warpmark_shared PRIVATE ${WARPMARK_STATIC_zstd} ${WARPMARK_STATIC_z})
if(WARPMARK_STATIC_sqlite3)
  target_link_options(warpmark_shared PRIVATE -Wl,--whole-archive ${WARPMARK_STATIC_sqlite3} -Wl,--no-whole-archive)
endif()
target_include_directories(warpmark_shared INTERFACE $<INSTALL_INTERFACE:include>)
target_compile_features(warpmark_shared INTERFACE cxx_std_20)
set(library_map ${CMAKE_SOURCE_DIR}/cmake/warpmark_library.map)
target_link_options(warpmark_shared PRIVATE
  -Wl,--version-script=${library_map} -Wl,--as-needed -Wl,-Bsymbolic -Wl,-z,defs -Wl,--disable-new-dtags)
set_property(TARGET warpmark_shared APPEND PROPERTY LINK_DEPENDS ${library_map})
set_target_properties(warpmark_shared PROPERTIES OUTPUT_NAME warpmark EXPORT_NAME warpmark
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} INSTALL_RPATH "$ORIGIN/..")
if(WARPMARK_SANITIZE)
  target_link_options(warpmark_shared PRIVATE -fsanitize=${WARPMARK_SANITIZE} -Wl,-z,undefs)
endif()
