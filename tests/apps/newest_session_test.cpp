// Which session `warpmark check` judges where none is named.
#include "apps/stored_history.h"

namespace warpmark::apps {
namespace {

class NewestSession : public WithHistory {};

TEST_F(NewestSession, is_of_this_repository) {
  const auto commit_in = [&](const std::string& name) {
    const auto made = run_process({"sh", "-c",
                                   "mkdir " + name + " && cd " + name +
                                       " && git init -q . && git config user.email a@b && "
                                       "git config user.name A && git commit -q --allow-empty -m " +
                                       name + " && git rev-parse HEAD"},
                                  {.deadline_s = 60, .directory = folder_.string()});
    EXPECT_TRUE(made.ok() && made->exit_code == 0);
    return made.ok() ? made->out.substr(0, 40) : "";
  };
  const auto check_in = [&](const std::string& name) {
    const auto output =
        run_process({kExecutable, "check", "--json", path("check.json")}, {.deadline_s = 60, .directory = path(name)});
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : ProcessOutput{};
  };
  const auto ours = commit_in("ours");
  commit_in("fresh");
  store_history(store(), 12);
  store_session(store(), {.day = 40, .time = 1, .commit = ours});
  store_session(store(), {.day = 41, .time = 3});
  const auto here = check_in("ours");
  EXPECT_EQ(json("check.json")["sessions"], Json::array({"2026-0040"})) << here.out << here.err;
  EXPECT_NE(here.err.find("Checking 2026-0040, the newest session of this repository"), std::string::npos) << here.err;
  EXPECT_NE(here.err.find("--run ID checks another"), std::string::npos) << here.err;
  const auto outside = check_in("");
  EXPECT_EQ(json("check.json")["sessions"], Json::array({"2026-0041"})) << outside.out << outside.err;
  const auto fresh = check_in("fresh");
  EXPECT_EQ(fresh.exit_code, 2) << fresh.out << fresh.err;
  EXPECT_NE(fresh.err.find("no stored session is of a commit of this repository"), std::string::npos) << fresh.err;
}

TEST_F(NewestSession, of_a_changed_command_has_no_history) {
  store_history(store(), 12);
  const auto output = warpmark({"check", "--rounds", "1", "--warmup", "0", "--json", path("check.json"), "--", "true"});
  EXPECT_EQ(output.exit_code, 3) << output.out << output.err;
  EXPECT_EQ(json("check.json")["metrics"][0]["reason"],
            "main has no session of this benchmark: a changed command or name begins a new series");
}

}  // namespace
}  // namespace warpmark::apps
