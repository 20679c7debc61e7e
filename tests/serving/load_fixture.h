// What the tests of the load client share: a quick reference server, targets, traffic, and a measurement.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "serving/client/load_client.h"
#include "serving/client/prepare_load.h"
#include "serving/records_fixture.h"
#include "serving/reference/reference_server.h"
#include "serving/results/evaluate_load.h"

namespace warpmark::serving {

inline ReferenceServerOptions quick() {
  ReferenceServerOptions options;
  options.script.ttft_s = 0.005;
  options.script.itl_s = 0.001;
  return options;
}

inline Target target_of(const std::string& url, const char* api = "chat") {
  Target target{.api = find_in(apis(), api), .model = "reference"};
  const auto base = http::parse_url(url);
  EXPECT_TRUE(base.ok()) << url;
  target.bases = {*base};
  return target;
}

inline Traffic traffic_of(const char* scenario, std::int64_t users, std::int64_t requests) {
  Traffic traffic{.users = users, .most_requests = requests};
  const auto parsed = parse_scenario(scenario);
  EXPECT_TRUE(parsed.ok());
  traffic.scenario = *parsed;
  return traffic;
}

struct Measured {
  LoadOutcome outcome;
  ScenarioResult result;
};

inline Measured measure(const Target& target, const Traffic& traffic, const std::function<void(LoadPlan&)>& change = {},
                        const Slo& slo = {}) {
  auto plan = prepare_load(target, traffic, {});
  EXPECT_TRUE(plan.ok()) << plan.error().what;
  plan->drain_s = 20;
  if (change) change(*plan);
  auto outcome = run_load_on(*plan, 1, {});
  EXPECT_TRUE(outcome.ok()) << outcome.error().what;
  if (!outcome.ok()) return {};
  Measured measured{*outcome, {}};
  measured.result = evaluate_load(std::move(*outcome), *plan, {.find_warmup = false, .slo = slo});
  return measured;
}

inline std::unique_ptr<ReferenceServer> serve(const ReferenceServerOptions& options) {
  auto server = ReferenceServer::start(options);
  EXPECT_TRUE(server.ok()) << server.error().what;
  return std::move(*server);
}

}  // namespace warpmark::serving
