// Outputs that `warpmark allclose` compares: tables, JSON, arrays and safetensors. What is read has as many values as
// its shape says.
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "base/json.h"

#include "accuracy/columns.h"

namespace {

using warpmark::accuracy::Columns;

void check(const warpmark::Result<Columns>& columns) {
  if (!columns.ok()) return;
  for (const auto& column : *columns) {
    if (column.shape.empty()) continue;
    std::size_t elements = 1;
    for (const auto extent : column.shape) elements *= static_cast<std::size_t>(extent);
    if (elements != column.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(warpmark::accuracy::parse_table(bytes, ',', "input"));
  check(warpmark::accuracy::parse_table(bytes, '\t', "input"));
  check(warpmark::accuracy::parse_json_columns(bytes, "input"));
  check(warpmark::accuracy::parse_npy(bytes, "input"));
  check(warpmark::accuracy::parse_safetensors(bytes, "input"));
  return 0;
}
