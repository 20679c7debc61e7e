// CUPTI, loaded at run time: the recorder works with whatever CUPTI 12 or 13 the machine has, and says so where there
// is none. Records only ever grow at their ends (NVIDIA's CUPTI documentation), so that the structs of the headers we
// were built with read those of a newer library.
#pragma once

#include <cupti.h>

#include <string>
#include <vector>

namespace warpmark::profile::module {

/// Pointers to the functions used, named as in cupti.h without the prefix.
struct CuptiLibrary {
  decltype(&cuptiActivityEnable) ActivityEnable = nullptr;
  decltype(&cuptiActivityDisable) ActivityDisable = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) ActivityRegisterCallbacks = nullptr;
  decltype(&cuptiActivityGetNextRecord) ActivityGetNextRecord = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) ActivityGetNumDroppedRecords = nullptr;
  decltype(&cuptiActivityFlushAll) ActivityFlushAll = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) ActivityRegisterTimestampCallback = nullptr;
  decltype(&cuptiSubscribe) Subscribe = nullptr;
  decltype(&cuptiEnableCallback) EnableCallback = nullptr;
  decltype(&cuptiGetCallbackName) GetCallbackName = nullptr;
  decltype(&cuptiGetVersion) GetVersion = nullptr;
  std::string path;  ///< of the loaded file
};

/// `wanted` is a path, or empty to look where CUDA's packages put the library. Empty if it worked, else what was tried
/// and what failed.
[[nodiscard]] std::string load_cupti(const char* wanted, CuptiLibrary& library);

/// Whether another tool holds CUPTI, which serves one in a process, at least before CUDA 13.3; what it answers to the
/// second differs by function.
[[nodiscard]] bool is_taken(CUptiResult code);
[[nodiscard]] std::string taken_text(CUptiResult code);

/// The GPUs that the recorded program sees, as the driver describes them: how many multiprocessors there are decides
/// whether a kernel fills the GPU.
/// One line a GPU, as the metadata "gpu" of recordings has it: index, name, bytes of memory, multiprocessors, compute
/// capability (two numbers), most threads of a multiprocessor and uuid, with '|' between them. Asks the driver library
/// that the program has loaded; empty before the program has initialized it, or if the driver does not answer.
[[nodiscard]] std::vector<std::string> gpu_facts();

}  // namespace warpmark::profile::module
