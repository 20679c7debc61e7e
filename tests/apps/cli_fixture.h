// The executable as a person uses it, in a folder and with a database of its own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"

namespace warpmark::apps {

inline const std::string kExecutable = std::string(WARPMARK_BINARY_DIR) + "/warpmark";

/// A path as a word for a shell, also within single quotes: folders may have spaces in their names.
inline std::string in_quotes(const std::string& path) { return '"' + path + '"'; }

/// Whether the clock leaps against that of the kernel, so that no time of a command means anything. Takes 1.5 s.
inline bool clock_jumps() {
  const auto apart_s = [] {
    const auto uptime = read_file("/proc/uptime");
    return static_cast<double>(monotonic_ns()) * 1e-9 - (uptime.ok() ? std::atof(uptime->c_str()) : 0);
  };
  const double before_s = apart_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  return std::abs(apart_s() - before_s) > 0.2;
}

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("WARPMARK_DB", (folder_ / "test.db").c_str(), 1);
    setenv("GIT_CEILING_DIRECTORIES", folder_.parent_path().c_str(), 1);  // TMPDIR may lie in a repository
  }
  void TearDown() override {
    unsetenv("WARPMARK_DB");
    std::filesystem::remove_all(folder_);
  }

  ProcessOutput warpmark(std::vector<std::string> words) {
    words.insert(words.begin(), kExecutable);
    auto output = run_process(words, {.deadline_s = 200});
    EXPECT_TRUE(output.ok()) << output.error().what;
    return output.ok() ? *output : ProcessOutput{};
  }
  /// Without line breaks, which depend on the length of numbers.
  static std::string unwrapped(const std::string& text) { return std::regex_replace(text, std::regex(R"(\s+)"), " "); }
  /// On a terminal of 80 columns.
  ProcessOutput warpmark_narrow(std::vector<std::string> words) {
    setenv("COLUMNS", "80", 1);
    auto output = warpmark(std::move(words));
    unsetenv("COLUMNS");
    return output;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) { EXPECT_TRUE(write_file(path(name), text).ok()); }
  Json json(const std::string& name) {
    const auto text = read_file(path(name));
    EXPECT_TRUE(text.ok()) << name;
    return text.ok() ? *parse_json(*text, name) : Json();
  }

  std::filesystem::path folder_;
};

/// The shortest measurement that is one.
inline const std::vector<std::string> kShort{"--device", "cpu", "--rounds", "1", "--budget", "2s", "--no-ceilings"};

inline std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace warpmark::apps
