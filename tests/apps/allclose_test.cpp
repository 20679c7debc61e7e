#include "apps/cli_fixture.h"
#include "base/files.h"
#include "base/json.h"

namespace warpmark::apps {
namespace {

TEST_F(Cli, allclose_tells_by_its_exit_code) {
  ASSERT_TRUE(write_file(path("ref.csv"), "id,score,label\n1,0.5,cat\n2,0.25,dog\n").ok());
  ASSERT_TRUE(write_file(path("near.csv"), "id,score,label\n1,0.5002,cat\n2,0.25,dog\n").ok());
  ASSERT_TRUE(write_file(path("far.csv"), "id,score,label\n1,0.6,cat\n2,0.25,cow\n").ok());
  EXPECT_EQ(warpmark({"allclose", path("ref.csv"), path("near.csv"), "--exact", "id"}).exit_code, 0);
  const auto far = warpmark({"allclose", path("ref.csv"), path("far.csv"), "--json", path("a.json")});
  EXPECT_EQ(far.exit_code, 4);
  EXPECT_NE(far.out.find("score[0]: 0.6, must be 0.5"), std::string::npos) << far.out;
  EXPECT_NE(far.out.find("label[1]: cow, must be dog"), std::string::npos) << far.out;
  EXPECT_FALSE((*parse_json(*read_file(path("a.json")), "a"))["ok"].get<bool>());
  EXPECT_EQ(warpmark({"allclose", path("ref.csv"), path("far.csv"), "--rtol", "score=1"}).exit_code, 4);
  EXPECT_EQ(warpmark({"allclose", path("ref.csv"), path("near.csv"), "--rtol", "scor=1"}).exit_code, 2);
  EXPECT_EQ(warpmark({"allclose", path("ref.csv")}).exit_code, 2);
  EXPECT_EQ(warpmark({"allclose", path("ref.csv"), path("none.csv")}).exit_code, 2);
  EXPECT_EQ(warpmark({"allclose", path("ref.csv"), path("a.txt")}).exit_code, 2);
}

TEST_F(Cli, allclose_matches_rows_of_tables_with_tabs_by_a_key) {
  ASSERT_TRUE(write_file(path("ref.txt"), "id\tscore\na\t1.0\nb\t2.0\n").ok());
  ASSERT_TRUE(write_file(path("out.txt"), "id\tscore\nb\t2.0\na\t1.0\n").ok());
  const auto unordered = warpmark({"allclose", path("ref.txt"), path("out.txt")});
  EXPECT_EQ(unordered.exit_code, 4);
  EXPECT_NE(unordered.out.find("The rows have the same id in another order: add --key 'id'"), std::string::npos);
  const auto keyed = warpmark({"allclose", path("ref.txt"), path("out.txt"), "--key", "id"});
  EXPECT_EQ(keyed.exit_code, 0) << keyed.out << keyed.err;
  ASSERT_TRUE(write_file(path("more.txt"), "id\tscore\nb\t2.0\na\t1.0\nc\t3\n").ok());
  const auto more = warpmark({"allclose", path("ref.txt"), path("more.txt"), "--key", "id"});
  EXPECT_EQ(more.exit_code, 2);
  EXPECT_NE(more.err.find("the reference has no row with the key c"), std::string::npos) << more.err;
  EXPECT_EQ(warpmark({"allclose", path("ref.txt"), path("out.txt"), "--key", "name"}).exit_code, 2);
}

TEST_F(Cli, allclose_says_how_integers_may_differ_and_what_is_wrong_with_an_empty_file) {
  ASSERT_TRUE(write_file(path("ref.csv"), "class\n999\n").ok());
  ASSERT_TRUE(write_file(path("out.csv"), "class\n1000\n").ok());
  const auto other = warpmark({"allclose", path("ref.csv"), path("out.csv")});
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_NE(other.out.find("Integers must be equal unless a tolerance names them: --atol 'class=1'"), std::string::npos)
      << other.out;
  EXPECT_EQ(warpmark({"allclose", path("ref.csv"), path("out.csv"), "--atol", "class=1"}).exit_code, 0);
  ASSERT_TRUE(write_file(path("empty.json"), "").ok());
  ASSERT_TRUE(write_file(path("ref.json"), "{\"a\": 1}").ok());
  const auto empty = warpmark({"allclose", path("empty.json"), path("ref.json")});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_NE(empty.err.find("empty.json is empty, where JSON is expected"), std::string::npos) << empty.err;
  const auto converted = warpmark({"convert", path("empty.json"), "--to", "chrome", "--out", path("c.json")});
  EXPECT_EQ(converted.exit_code, 2);
  EXPECT_NE(converted.err.find("empty.json is empty"), std::string::npos) << converted.err;
}

TEST_F(Cli, allclose_passes_nothing_that_it_could_not_compare) {
  ASSERT_TRUE(write_file(path("header.csv"), "id,score\n").ok());
  const auto nothing = warpmark({"allclose", path("header.csv"), path("header.csv")});
  EXPECT_EQ(nothing.exit_code, 2) << nothing.out;
  EXPECT_NE(nothing.err.find("no rows to compare"), std::string::npos) << nothing.err;
  ASSERT_TRUE(write_file(path("high.csv"), "a\n1e308\n").ok());
  ASSERT_TRUE(write_file(path("low.csv"), "a\n-1e308\n").ok());
  const auto far = warpmark({"allclose", path("high.csv"), path("low.csv")});
  EXPECT_EQ(far.exit_code, 4);
  EXPECT_NE(far.out.find("1.8e+308"), std::string::npos) << "further apart than numbers can be: " << far.out;
}

}  // namespace
}  // namespace warpmark::apps
