// A model that is gone, and one that fails now and then.
#include "evaluate/runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/json.h"

namespace warpmark::evaluate {
namespace {

/// Answers every so many items; 0 is never.
class Moody final : public Model {
 public:
  Moody(int every, int& asked) : every_(every), asked_(asked) {}
  AskResult ask(Api /*api*/, const Json& /*request*/, double /*deadline_s*/,
                const std::atomic<bool>* /*interrupted*/) override {
    ++asked_;
    if (every_ > 0 && asked_ % every_ == 0) return {Reply{.text = "yes"}, {}};
    return {std::nullopt, {.what = "connection refused", .may_pass = true}};
  }

 private:
  int every_;
  int& asked_;
};

class GoneModel : public testing::Test {
 protected:
  GoneModel() {
    std::filesystem::remove(file_);
    for (int i = 0; i < 50; ++i) items_.push_back({.request = Json::object(), .hash = std::to_string(i)});
  }
  ~GoneModel() override { std::filesystem::remove(file_); }
  RunnerResult run(int every) {
    auto journal = Journal::open(file_);
    EXPECT_TRUE(journal.ok());
    const MakeModel make = [&]() -> Result<std::unique_ptr<Model>> {
      return std::unique_ptr<Model>(new Moody(every, asked_));
    };
    const auto result = ask_all(items_, **journal, make, {.concurrency = 1, .retries = 0}, [](const auto&) {});
    EXPECT_TRUE(result.ok());
    return *result;
  }

  std::filesystem::path file_ = std::filesystem::path(testing::TempDir()) / "gone-model.jsonl";
  std::vector<Item> items_;
  int asked_ = 0;
};

TEST_F(GoneModel, is_not_waited_for_item_by_item) {
  const auto result = run(0);
  EXPECT_EQ(asked_, 9);
  EXPECT_EQ(result.progress.failed, 50);
  EXPECT_EQ(result.gone, "9 items in turn had no answer: connection refused");
  EXPECT_EQ(result.failures.front(), "connection refused");
  EXPECT_EQ(result.failures.back(), "not asked: 9 items in turn had no answer: connection refused");
}

TEST_F(GoneModel, is_another_than_one_that_fails_now_and_then) {
  const auto result = run(8);
  EXPECT_EQ(asked_, 50);
  EXPECT_EQ(result.progress.failed, 44);
  EXPECT_EQ(result.gone, "");
  // What is known is not lost where nobody answers any more.
  const auto again = run(0);
  EXPECT_EQ(asked_, 59);
  EXPECT_EQ(again.progress.cached, 6);
  EXPECT_EQ(again.progress.failed, 44);
}

}  // namespace
}  // namespace warpmark::evaluate
