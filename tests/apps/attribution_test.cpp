// No part of a step is given away twice, in any recording that the tree keeps: alone, and where several are of one
// program together.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "base/files.h"
#include "base/json.h"
#include "profile/read_session.h"
#include "support/sound_claims.h"

namespace warpmark::apps {
namespace {

using Paths = std::vector<std::filesystem::path>;

void expect_sound(const Paths& paths) {
  const auto session = profile::read_session(paths);
  ASSERT_TRUE(session.ok()) << paths.front() << ": " << session.error().what;
  testing_support::expect_sound_claims(analyze::gather_evidence(*session), paths.front().filename().string());
}

TEST(Attribution, gives_no_part_of_a_recorded_step_away_twice) {
  const std::filesystem::path data = std::string(WARPMARK_SOURCE_DIR) + "/tests/data";
  std::size_t profiles = 0;
  for (const char* folder : {"traces", "programs", "tried", "xla", "ncu"}) {
    for (const auto& file : std::filesystem::directory_iterator(data / folder)) {
      if (file.path().filename() == "labels.json") continue;
      expect_sound({file.path()});
      ++profiles;
    }
  }
  EXPECT_GE(profiles, 25U);
}

TEST(Attribution, gives_no_part_of_the_steps_of_several_ranks_away_twice) {
  const std::string folder = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/traces/";
  const auto labels = parse_json(*read_file(folder + "labels.json"), "labels.json");
  ASSERT_TRUE(labels.ok());
  std::size_t sessions = 0;
  for (const Json& label : *labels) {
    Paths paths;
    for (const Json& file : label["files"]) paths.emplace_back(folder + file.get<std::string>());
    if (paths.size() < 2) continue;
    expect_sound(paths);
    ++sessions;
  }
  EXPECT_GE(sessions, 2U);
}

}  // namespace
}  // namespace warpmark::apps
