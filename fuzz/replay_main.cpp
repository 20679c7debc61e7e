// Runs a fuzz target over files and folders of saved inputs, without libFuzzer: any compiler can build it, so the
// corpus is part of the normal tests (simdjson's fuzz/main.cpp does the same).
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> inputs;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) inputs.push_back(entry.path());
  }
  return inputs;
}

bool replay(const fs::path& path) {
  const auto bytes = warpmark::read_file(path, std::int64_t{1} << 24);
  if (!bytes) {
    std::fprintf(stderr, "%s\n", bytes.error().what.c_str());
    return false;
  }
  std::fprintf(stderr, "%s\n", path.c_str());  // before the run, as a crash must name its input
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t replayed = 0;
  for (int i = 1; i < count; ++i) {
    for (const auto& input : inputs_in(arguments[i])) {
      if (!replay(input)) return 1;
      ++replayed;
    }
  }
  std::fprintf(stderr, "%zu inputs replayed\n", replayed);
  return replayed == 0 ? 1 : 0;  // an empty corpus is a wrong path
}
