// A program that "uses a GPU" for SECONDS: loads what CUDA_INJECTION64_PATH names, as the driver would in cuInit, and
// launches steps of five kernels and a wait. Usage: mock_program SECONDS
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "mock_cupti/mock_cupti.h"

int main(int count, char** words) {
  if (const char* path = std::getenv("CUDA_INJECTION64_PATH")) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "mock_program: %s\n", dlerror());
      return 9;
    }
    reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  }
  const double seconds = count > 1 ? std::atof(words[1]) : 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    for (const char* kernel : {"_Z4gemmPfS_", "_Z3addPfS_", "_Z4gemmPfS_", "_Z7softmaxPf", "_Z4adamPfS_"}) {
      mock_cupti_launch(kernel, 100'000);
    }
    mock_cupti_synchronize();
  }
  return 3;
}
