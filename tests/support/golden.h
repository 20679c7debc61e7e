// Golden files: what is printed is compared with a file in the tree, which WARPMARK_UPDATE=1 rewrites.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/files.h"

namespace warpmark::testing_support {

/// `path` is relative to the folder tests/.
inline void expect_golden(const std::string& path, const std::string& actual) {
  const std::string file = std::string(WARPMARK_SOURCE_DIR) + "/tests/" + path;
  if (const char* update = std::getenv("WARPMARK_UPDATE"); update != nullptr && std::string(update) == "1") {
    ASSERT_TRUE(write_file(file, actual).ok()) << file;
    return;
  }
  const auto expected = read_file(file);
  ASSERT_TRUE(expected.ok()) << expected.error().what << "; WARPMARK_UPDATE=1 writes it";
  EXPECT_TRUE(*expected == actual) << "differs from " << file << "; WARPMARK_UPDATE=1 rewrites it. Got:\n"
                                   << actual.substr(0, 4000);
}

}  // namespace warpmark::testing_support
