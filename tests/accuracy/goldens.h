// The values that the reference implementations gave for the same input (tests/data/accuracy/make_goldens.py).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace warpmark::accuracy {

inline Json goldens(const std::string& name) {
  const std::string path = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/accuracy/" + name + ".json";
  const auto text = read_file(path);
  EXPECT_TRUE(text.ok()) << path;
  return Json::parse(text.ok() ? *text : "null");
}

inline std::vector<std::string> texts_of(const Json& json) { return json.get<std::vector<std::string>>(); }

inline constexpr double kGoldenTolerance = 1e-9;

}  // namespace warpmark::accuracy
