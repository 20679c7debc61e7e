# For `cpack --config`: one Debian package of a folder that is laid out already. make_deb.sh sets the variables: the package's
# name, the folder, the version, what dpkg-shlibdeps says that it depends on, and Debian's name of the processor.
foreach(name PACKAGE ROOT VERSION DEPENDS ARCHITECTURE MAINTAINER)
  set(${name} "$ENV{${name}}")
endforeach()
set(CPACK_GENERATOR DEB)
set(CPACK_PROJECT_NAME ${PACKAGE})
set(CPACK_PACKAGE_NAME ${PACKAGE})
set(CPACK_PACKAGE_VERSION ${VERSION})
set(CPACK_PACKAGE_CONTACT "${MAINTAINER}")
set(CPACK_PACKAGE_VENDOR warpmark)
set(CPACK_PACKAGE_FILE_NAME ${PACKAGE})
set(CPACK_INSTALLED_DIRECTORIES "${ROOT};/")
set(CPACK_INSTALL_CMAKE_PROJECTS "")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_STRIP_FILES OFF)  # they are
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${ARCHITECTURE})
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)  # Debian's own tools read no other than gzip, bzip2 and this
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${DEPENDS}")
if(PACKAGE STREQUAL warpmark)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures a machine and GPU programs, says what they lose")
  set(CPACK_PACKAGE_DESCRIPTION "warpmark benchmarks machines with and without GPUs, names the
 bottlenecks of GPU programs with the gain of fixing them, tells whether a
 change is faster, and guards what was gained.")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "warpmark-mpi, python3")
else()
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "collectives between processes and hosts for warpmark")
  set(CPACK_PACKAGE_DESCRIPTION "The module of warpmark that measures collectives through the system's Open MPI.")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "warpmark (= ${VERSION}), openmpi-bin, ${DEPENDS}")
endif()
