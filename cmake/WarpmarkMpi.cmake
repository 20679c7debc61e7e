# libwarpmark_mpi.so: the calls to MPI, built where Open MPI's development files are found. The executable loads it at run
# time and needs no MPI; the MPI library is the system's own, as clusters have builds for their networks.
set(WARPMARK_HAS_MPI FALSE)
if(NOT WARPMARK_SANITIZE)
  find_package(MPI QUIET COMPONENTS C)
endif()
if(MPI_C_FOUND)
  file(GLOB mpi_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/collectives/mpi/module/*.cpp)
  add_library(warpmark_mpi MODULE ${mpi_sources})
  target_compile_options(warpmark_mpi PRIVATE $<$<CONFIG:Release>:-O3>)
  target_link_libraries(warpmark_mpi PRIVATE warpmark_collectives MPI::MPI_C warpmark_flags)
  set(mpi_map ${CMAKE_SOURCE_DIR}/cmake/warpmark_mpi.map)
  target_link_options(warpmark_mpi PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,defs
    -Wl,--version-script=${mpi_map})
  set_property(TARGET warpmark_mpi APPEND PROPERTY LINK_DEPENDS ${mpi_map})
  set_target_properties(warpmark_mpi PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} SKIP_BUILD_RPATH ON INSTALL_RPATH "")
  set(WARPMARK_HAS_MPI TRUE)
  message(STATUS "MPI module: built with ${MPI_C_LIBRARIES}")
else()
  message(STATUS "MPI module: not built (no Open MPI development files, or a sanitizer build)")
endif()
