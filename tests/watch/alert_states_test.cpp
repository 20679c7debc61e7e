// States of alerts, groups and the outbox: pure, with a clock that the test sets.
#include <gmock/gmock.h>

#include "base/json.h"
#include "watch/alerts/history.h"
#include "watch/alerts/state.h"
#include "watch/alerts/states.h"

namespace warpmark::watch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

AlertRule rule_for(double for_s) {
  AlertRule rule;
  rule.name = "Hot";
  rule.severity = "critical";
  rule.for_s = for_s;
  rule.to = {"ops"};
  return rule;
}

Evaluation found(const std::vector<std::string>& gpus) {
  Evaluation evaluation{.rule = "Hot"};
  for (const auto& gpu : gpus) evaluation.active.push_back({{{"gpu", gpu}}, 91.0, "", "91 is above 85"});
  return evaluation;
}

Instant at(double s) { return {1000 + s, 1000 + s}; }

TEST(AlertStates, is_pending_until_it_held_for_long_enough_then_fires_and_is_resolved) {
  AlertStates states;
  const auto rule = rule_for(60);
  auto changed = states.update(rule, found({"0"}), at(0));
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0].state, AlertState::pending);
  EXPECT_THAT(states.update(rule, found({"0"}), at(59)), IsEmpty());
  EXPECT_EQ(states.next_s({rule}), 1060);
  changed = states.update(rule, found({"0"}), at(60));
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0].state, AlertState::firing);
  EXPECT_EQ(changed[0].active_at, "1970-01-01T00:16:40Z");
  EXPECT_EQ(changed[0].fired_at, "1970-01-01T00:17:40Z");
  changed = states.update(rule, found({}), at(90));
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0].state, AlertState::resolved);
}

TEST(AlertStates, begins_anew_where_the_condition_did_not_hold_in_between) {
  AlertStates states;
  const auto rule = rule_for(60);
  (void)states.update(rule, found({"0"}), at(0));
  (void)states.update(rule, found({}), at(30));
  EXPECT_THAT(states.alerts(), IsEmpty());
  (void)states.update(rule, found({"0"}), at(50));
  (void)states.update(rule, found({"0"}), at(70));
  EXPECT_EQ(states.firing(), 0U);
}

TEST(AlertStates, concludes_nothing_from_what_could_not_be_looked_at) {
  AlertStates states;
  const auto rule = rule_for(0);
  (void)states.update(rule, found({"0"}), at(0));
  ASSERT_EQ(states.firing(), 1U);
  EXPECT_THAT(states.update(rule, {.rule = "Hot", .active = {}, .known = false}, at(10)), IsEmpty());
  EXPECT_EQ(states.firing(), 1U);
}

TEST(AlertStates, keeps_firing_over_short_gaps_when_asked_to) {
  AlertStates states;
  auto rule = rule_for(0);
  rule.keep_firing_s = 30;
  (void)states.update(rule, found({"0"}), at(0));
  EXPECT_THAT(states.update(rule, found({}), at(29)), IsEmpty());
  EXPECT_EQ(states.next_s({rule}), 1030);
  EXPECT_THAT(states.update(rule, found({}), at(30)), SizeIs(1));
}

TEST(AlertStates, resolves_what_belongs_to_a_rule_that_was_deleted) {
  AlertStates states;
  (void)states.update(rule_for(0), found({"0"}), at(0));
  EXPECT_THAT(states.keep_only({}, at(1)), SizeIs(1));
  EXPECT_EQ(states.firing(), 0U);
}

class Groups : public testing::Test {
 protected:
  void SetUp() override {
    rules_.rules = {rule_for(0)};
    rules_.sinks.resize(1);
    rules_.sinks[0].name = "ops";
    rules_.group_wait_s = 30;
    rules_.group_interval_s = 300;
    rules_.repeat_interval_s = 3600;
  }
  std::vector<Message> probe(const std::vector<std::string>& gpus, double s) {
    (void)states_.update(rules_.rules[0], found(gpus), at(s));
    return flush(s);
  }
  std::vector<Message> flush(double s) {
    return groups_.flush(states_, rules_, {.now = at(s), .host = "node7", .at_once = false, .on_its_way = {}});
  }
  AlertRules rules_;
  AlertStates states_;
  AlertGroups groups_;
};

TEST_F(Groups, wait_for_others_and_tell_them_together) {
  EXPECT_THAT(probe({"0"}, 0), IsEmpty());
  EXPECT_THAT(probe({"0", "1"}, 20), IsEmpty());
  EXPECT_EQ(groups_.next_s(rules_), 1030);
  const auto reported = flush(30);
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].firing_count, 2);
  EXPECT_EQ(reported[0].reason, "new");
  EXPECT_EQ(reported[0].sink, "ops");
  EXPECT_THAT(reported[0].group, ElementsAre(std::pair<std::string, std::string>("rule", "Hot")));
}

TEST_F(Groups, tell_again_only_what_changed_or_after_the_repeat_interval) {
  (void)probe({"0"}, 0);
  ASSERT_THAT(flush(30), SizeIs(1));
  EXPECT_THAT(probe({"0"}, 400), IsEmpty()) << "nothing changed";
  EXPECT_THAT(probe({"0", "1"}, 500), IsEmpty()) << "not before the group interval";
  auto reported = flush(700);
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].reason, "changed");
  EXPECT_THAT(flush(700 + 3000), IsEmpty());
  reported = flush(700 + 3600);
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].reason, "repeated");
}

TEST_F(Groups, an_alert_that_never_ends_is_told_once_in_a_repeat_interval) {
  (void)probe({"0"}, 0);
  std::size_t messages = 0;
  for (double s = 30; s <= 30 * 86400.0; s += 60) messages += flush(s).size();
  EXPECT_NEAR(static_cast<double>(messages), 30 * 24.0 * 3600 / 3600, 60) << "one an hour, rounded to the interval";
  EXPECT_THAT(groups_.groups(), SizeIs(1));
}

TEST_F(Groups, tell_the_end_once_and_forget_it) {
  (void)probe({"0"}, 0);
  (void)flush(30);
  EXPECT_THAT(probe({}, 100), IsEmpty());
  const auto reported = flush(330);
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].reason, "resolved");
  EXPECT_EQ(reported[0].firing_count, 0);
  EXPECT_EQ(reported[0].resolved_count, 1);
  EXPECT_THAT(states_.alerts(), IsEmpty());
  EXPECT_THAT(flush(1000), IsEmpty());
  EXPECT_THAT(groups_.groups(), IsEmpty());
}

TEST_F(Groups, tell_what_was_over_before_anybody_was_told) {
  (void)probe({"0"}, 0);
  (void)probe({}, 10);
  const auto reported = flush(30);
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].resolved_count, 1);
}

TEST_F(Groups, keep_ends_from_sinks_that_do_not_want_them) {
  rules_.sinks[0].resolved = false;
  (void)probe({"0"}, 0);
  (void)flush(30);
  (void)probe({}, 100);
  EXPECT_THAT(flush(400), IsEmpty());
  EXPECT_THAT(states_.alerts(), IsEmpty());
}

TEST_F(Groups, do_not_repeat_what_is_still_on_its_way) {
  (void)probe({"0"}, 0);
  (void)flush(30);
  EXPECT_THAT(
      groups_.flush(states_, rules_,
                    {.now = at(9000), .host = "", .at_once = false, .on_its_way = [](const auto&) { return true; }}),
      IsEmpty());
}

TEST_F(Groups, a_flood_is_one_message_of_bounded_size) {
  std::vector<std::string> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(std::to_string(i));
  (void)probe(many, 0);
  const auto reported = flush(30);
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].firing_count, 10'000);
  EXPECT_THAT(reported[0].firing, SizeIs(kMostShown));
  EXPECT_LT(dump_json(write(kMessage, reported[0])).size(), 20'000U);
}

TEST(Live, more_series_than_are_kept_are_counted) {
  AlertRule rule = rule_for(0);
  rule.select = "m";
  rule.limit = "0";
  Family family{"m", "", FamilyType::gauge, {}};
  for (int i = 0; i < 12'000; ++i) family.samples.push_back({{{"i", std::to_string(i)}}, 1});
  std::map<std::string, SeenSeries> seen;
  const auto evaluation = evaluate_live(rule, {family}, 0, seen);
  EXPECT_EQ(evaluation.active.size(), kMostAlertsOfRule);
  EXPECT_EQ(evaluation.left_out, 2000);
}

TEST(Live, a_series_that_went_silent_is_told_by_its_labels_and_one_that_never_was_by_the_rule) {
  AlertRule rule = rule_for(0);
  rule.select = "temp*";
  rule.condition = RuleCondition::no_data;
  rule.no_data_s = 60;
  std::map<std::string, SeenSeries> seen;
  const Family both{"temperature", "", FamilyType::gauge, {{{{"gpu", "0"}}, 1}, {{{"gpu", "1"}}, 1}}};
  const Family one{"temperature", "", FamilyType::gauge, {{{{"gpu", "0"}}, 1}}};
  EXPECT_THAT(evaluate_live(rule, {both}, 0, seen).active, IsEmpty());
  EXPECT_THAT(evaluate_live(rule, {one}, 59, seen).active, IsEmpty());
  const auto silent = evaluate_live(rule, {one}, 60, seen);
  ASSERT_THAT(silent.active, SizeIs(1));
  EXPECT_EQ(silent.active[0].labels[1].second, "1");
  EXPECT_THAT(evaluate_live(rule, {both}, 61, seen).active, IsEmpty());

  std::map<std::string, SeenSeries> never;
  EXPECT_THAT(evaluate_live(rule, {}, 0, never).active, IsEmpty());
  EXPECT_THAT(evaluate_live(rule, {}, 60, never).active, SizeIs(1));
  EXPECT_THAT(evaluate_live(rule, {both}, 61, never).active, IsEmpty());
}

TEST(Live, a_metric_of_gpus_is_missing_where_there_is_no_gpu) {
  AlertRule rule = rule_for(0);
  rule.limit = "1";
  std::map<std::string, SeenSeries> seen;
  const Family store{"warpmark_store_up", "", FamilyType::gauge, {{{}, 1}}};
  const Family gpu{"warpmark_gpu_error", "", FamilyType::gauge, {{{}, 1}}};
  rule.select = "warpmark_gpu_up";
  EXPECT_EQ(evaluate_live(rule, {store}, 0, seen).problem,
            "this machine has no metric warpmark_gpu_up: no GPU was found");
  EXPECT_THAT(evaluate_live(rule, {store, gpu}, 0, seen).problem, Not(HasSubstr("no GPU was found")));
  rule.select = "warpmark_store_pu";
  EXPECT_EQ(evaluate_live(rule, {store}, 0, seen).problem,
            "this machine has no metric warpmark_store_pu; did you mean warpmark_store_up?");
  EXPECT_EQ(compared_text(0, RuleCondition::below, "1", ""), "value 0 is below the limit 1");
}

Message message_to(const std::string& sink, const std::string& id) {
  Message message{.id = id, .sink = sink, .host = "h", .time = "t"};
  message.group = {{"rule", id}};
  return message;
}

TEST(Outbox, tries_again_ever_more_slowly_and_in_order) {
  Outbox outbox;
  EXPECT_TRUE(outbox.add(message_to("ops", "1")));
  EXPECT_TRUE(outbox.add(message_to("ops", "2")));
  ASSERT_NE(outbox.due("ops", 0), nullptr);
  double now_s = 0, waited_s = 0;
  for (int i = 0; i < 12; ++i) {
    outbox.sending("ops");
    EXPECT_EQ(outbox.due("ops", now_s), nullptr) << "one at a time";
    outbox.failed("ops", now_s, 0);
    waited_s = *outbox.next_s() - now_s;
    EXPECT_DOUBLE_EQ(waited_s, std::min(std::pow(2.0, i), 300.0));
    EXPECT_EQ(outbox.due("ops", now_s + waited_s - 0.1), nullptr);
    now_s += waited_s;
    ASSERT_NE(outbox.due("ops", now_s), nullptr);
    EXPECT_EQ(outbox.due("ops", now_s)->id, "1");
  }
  outbox.failed("ops", now_s, 1234);
  EXPECT_DOUBLE_EQ(*outbox.next_s() - now_s, 1234) << "as the sink asked";
  outbox.delivered("ops");
  EXPECT_EQ(outbox.due("ops", now_s)->id, "2");
}

TEST(Outbox, is_bounded_and_loses_the_oldest_but_not_what_is_being_sent) {
  Outbox outbox;
  for (std::size_t i = 0; i < kMostWaiting; ++i) EXPECT_TRUE(outbox.add(message_to("ops", std::to_string(i))));
  outbox.sending("ops");
  EXPECT_FALSE(outbox.add(message_to("ops", "new")));
  EXPECT_EQ(outbox.size(), kMostWaiting);
  EXPECT_EQ(outbox.queues().at("ops").messages[0].id, "0");
  EXPECT_EQ(outbox.queues().at("ops").messages[1].id, "2");
  EXPECT_EQ(outbox.queues().at("ops").dropped, 1);
}

TEST(WatchStateJson, comes_back_as_it_was) {
  WatchState state;
  state.at = {1234.5, 99.25};
  AlertRule rule = rule_for(0);
  Evaluation evaluation = found({"0"});
  evaluation.active[0].labels = {{"benchmark", "a\"\n\x1f b="}, {"metric", "\xC3\xA9"}};
  (void)state.states.update(rule, evaluation, at(0));
  AlertRules rules;
  rules.rules = {rule};
  rules.sinks.resize(1);
  rules.sinks[0].name = "ops";
  for (auto& message : state.groups.flush(state.states, rules, {.now = at(0), .host = "h", .at_once = true})) {
    (void)state.outbox.add(std::move(message));
  }
  ASSERT_EQ(state.outbox.size(), 1U);
  state.seen["Hot"]["k"] = {{{"gpu", "1"}}, 7};
  const Json json = to_json(state);
  const auto again = watch_state_from(*parse_json(dump_json(json), "state"));
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(to_json(*again)["alerts"], json["alerts"]);
  EXPECT_EQ(to_json(*again)["groups"], json["groups"]);
  EXPECT_EQ(to_json(*again)["outbox"], json["outbox"]);
  EXPECT_EQ(again->states.alerts().begin()->first, state.states.alerts().begin()->first);
  for (const char* broken : {"{}", "[]", "{\"schema\":\"warpmark.watch_state/1\"}", "null", "7"}) {
    EXPECT_FALSE(watch_state_from(*parse_json(broken, "state")).ok()) << broken;
  }
}

}  // namespace
}  // namespace warpmark::watch
