// What CUPTI calls at both ends of the calls that a program makes.
#pragma once

#include <cupti.h>

namespace warpmark::profile::module {

class Recorder;

/// CUPTI keeps plain function pointers, so the recorder stands where such a function can find it.
[[nodiscard]] Recorder*& current_recorder();

/// Times the call, tells the recorder of launches, and follows the marks of cudaProfilerStart and cudaProfilerStop.
void CUPTIAPI on_call(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

}  // namespace warpmark::profile::module
