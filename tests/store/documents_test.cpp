// Documents that verbs leave with their sessions, in every kind of Store.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "sample_data.h"
#include "store/keep.h"
#include "store_kinds.h"

namespace warpmark::store {
namespace {

class StoreDocuments : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    if (IsSkipped()) return;
    for (const char* id : {"s1", "s2"}) {
      Session session = sample_session(id);
      session.machine.hostname = std::string("node-") + id;
      keep(session);
    }
  }

  void attach(const std::string& session, const std::string& kind, const std::string& made, const std::string& text) {
    const auto attached = store_->attach(session, {kind, made, "title of " + made, text});
    ASSERT_TRUE(attached.ok()) << attached.error().what;
  }

  /// "session.index kind" of each.
  std::vector<std::string> names(const DocumentQuery& query) {
    std::vector<std::string> found;
    const auto documents = store_->documents(query);
    EXPECT_TRUE(documents.ok()) << documents.error().what;
    for (const auto& entry : *documents) {
      found.push_back(entry.session + "." + std::to_string(entry.index) + " " + entry.kind);
    }
    return found;
  }
};

using Names = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(Stores, StoreDocuments, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(StoreDocuments, come_back_as_they_were_attached) {
  const std::string text = R"({"schema":"warpmark.matrix/1","name":"größe 'q' \"x\"","cells":[1,2.5]})";
  attach("s1", "matrix", "2026-03-01T00:00:00Z", text);
  const auto document = store_->document("s1", 0);
  ASSERT_TRUE(document.ok()) << document.error().what;
  EXPECT_EQ(document->kind, "matrix");
  EXPECT_EQ(document->made, "2026-03-01T00:00:00Z");
  EXPECT_EQ(document->title, "title of 2026-03-01T00:00:00Z");
  EXPECT_EQ(document->text, text);
  const auto listed = store_->documents({});
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().bytes, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(listed->front().hostname, "node-s1");
  EXPECT_EQ(listed->front().command, sample_session("s1").command);
}

TEST_P(StoreDocuments, are_listed_newest_first_by_kind_session_and_host) {
  attach("s1", "matrix", "2026-03-01T00:00:00Z", "{}");
  attach("s2", "check", "2026-03-03T00:00:00Z", "{}");
  attach("s1", "check", "2026-03-02T00:00:00Z", R"({"a":1})");
  EXPECT_EQ(names({}), (Names{"s2.0 check", "s1.1 check", "s1.0 matrix"}));
  EXPECT_EQ(names({.kind = "check"}), (Names{"s2.0 check", "s1.1 check"}));
  EXPECT_EQ(names({.session = "s1"}), (Names{"s1.1 check", "s1.0 matrix"}));
  EXPECT_EQ(names({.hostname = "node-s2"}), (Names{"s2.0 check"}));
  EXPECT_EQ(names({.limit = 1}), (Names{"s2.0 check"}));
  EXPECT_EQ(names({.before = std::pair("s2", 0)}), (Names{"s1.1 check", "s1.0 matrix"}));
  EXPECT_EQ(names({.kind = "check", .before = std::pair("s1", 1)}), Names{});
}

TEST_P(StoreDocuments, are_kept_once_however_often_they_are_attached) {
  attach("s1", "check", "2026-03-01T00:00:00Z", R"({"a":1})");
  attach("s1", "check", "2026-03-02T00:00:00Z", R"({"a":1})");
  attach("s2", "check", "2026-03-02T00:00:00Z", R"({"a":1})");
  attach("s1", "check", "2026-03-03T00:00:00Z", R"({"a":2})");
  EXPECT_EQ(names({.session = "s1"}), (Names{"s1.1 check", "s1.0 check"}));
  EXPECT_EQ(names({.session = "s2"}), (Names{"s2.0 check"}));
}

TEST_P(StoreDocuments, need_their_session_and_go_with_it) {
  EXPECT_EQ(store_->attach("other", {"check", "", "", "{}"}).error().what, "session 'other' was not begun");
  attach("s1", "check", "2026-03-01T00:00:00Z", "{}");
  attach("s2", "check", "2026-03-01T00:00:00Z", "{}");
  const auto absent = store_->document("s1", 1);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().kind, ErrorKind::usage);
  EXPECT_EQ(absent.error().what, "there is no document 1 of a session 's1'");
  const std::vector<std::string> gone{"s1"};
  ASSERT_TRUE(store_->prune(gone).ok());
  EXPECT_EQ(names({}), (Names{"s2.0 check"}));
  EXPECT_FALSE(store_->document("s1", 0).ok());
}

TEST_P(StoreDocuments, hold_no_password) {
  attach("s1", "check", "2026-03-01T00:00:00Z",
         R"({"command":"warpmark check --db postgresql://me:geheim@h/d","b":1})");
  EXPECT_EQ(store_->document("s1", 0)->text, R"({"command":"warpmark check --db postgresql://me:***@h/d","b":1})");
}

TEST(DocumentOf, is_of_the_kind_that_its_schema_names) {
  const auto document = document_of({{"schema", "warpmark.matrix/1"}, {"name", "n"}}, "a title");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->kind, "matrix");
  EXPECT_EQ(document->title, "a title");
  EXPECT_EQ(document->text, R"({"schema":"warpmark.matrix/1","name":"n"})");
  EXPECT_EQ(document->made.size(), std::string("2026-03-01T00:00:00Z").size());
  EXPECT_FALSE(document_of({{"name", "n"}}, "").ok());
  EXPECT_FALSE(document_of({{"schema", "other/1"}}, "").ok());
}

}  // namespace
}  // namespace warpmark::store
