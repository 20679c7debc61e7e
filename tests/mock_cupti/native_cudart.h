// Stands in for CUDA's runtime: see native_cudart.cpp.
#pragma once

#include <cstdint>

extern "C" {
/// `kernel` must live as long as the program.
void played_launch(const char* kernel, std::uint64_t duration_ns);
void played_synchronize();
}
