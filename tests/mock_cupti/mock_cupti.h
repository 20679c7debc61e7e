// What the mock program asks of the mock CUPTI: a launch of a kernel that takes some time on a GPU that does not exist.
#pragma once

#include <cstdint>

extern "C" {
/// One launch on stream 7 of device 0: the callbacks of a subscriber, and a kernel record where they are enabled.
void mock_cupti_launch(const char* kernel, std::uint64_t kernel_ns);
void mock_cupti_synchronize();
}
