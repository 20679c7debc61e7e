// What the tests of `warpmark load` share: a reference server and a run against it.
#pragma once

#include <gmock/gmock.h>

#include <regex>

#include "apps/cli_fixture.h"
#include "base/text.h"
#include "serving/reference/reference_server.h"
#include "support/schema_check.h"

namespace warpmark::apps {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::schema_errors;

class LoadCli : public Cli {
 protected:
  void start(serving::ReferenceScript script = {.ttft_s = 0.004, .itl_s = 0.001}) {
    auto server = serving::ReferenceServer::start({.script = script});
    ASSERT_TRUE(server.ok()) << server.error().what;
    server_ = std::move(*server);
  }
  std::vector<std::string> run(const std::vector<std::string>& more) {
    return with({"load", "run", "--api-base", server_->url(), "--api-model-name", "reference", "--traffic-scenario",
                 "D(20,10)"},
                more);
  }
  std::unique_ptr<serving::ReferenceServer> server_;
};

}  // namespace warpmark::apps
