# Debian's cross compiler for 64-bit Arm (crossbuild-essential-arm64) with the libraries of the architecture arm64, whose
# headers are the native ones. Programs made with it run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu /usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
# Open MPI's compiler wrappers are programs of the other processor.
set(MPI_SKIP_COMPILER_WRAPPER TRUE)
set(MPI_C_LIB_NAMES mpi)
set(MPI_mpi_LIBRARY /usr/lib/aarch64-linux-gnu/openmpi/lib/libmpi.so)
set(MPI_C_HEADER_DIR /usr/lib/aarch64-linux-gnu/openmpi/include)
