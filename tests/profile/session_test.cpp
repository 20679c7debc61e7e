#include <gmock/gmock.h>

#include "profile/catalog.h"
#include "profile/pack.h"
#include "profile/trace_text.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;
using test::op;
using test::trace_of;
using warpmark::test::FakeTree;

std::string ranked(int rank) {
  return "{\"distributedInfo\": {\"rank\": " + std::to_string(rank) + ", \"world_size\": 4}, \"traceEvents\": [" +
         op("r" + std::to_string(rank), "5") + "]}";
}

std::vector<int> ranks_of(const ProfileSession& session) {
  std::vector<int> ranks;
  for (const Timeline& timeline : session.ranks) ranks.push_back(timeline.rank);
  return ranks;
}

TEST(Session, takes_ranks_from_the_content_first) {
  FakeTree tree;
  tree.file("a.rank0.json", ranked(2)).file("b.rank1.json", ranked(0)).file("c.json", ranked(1));
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(session->ranks[0].name_of(0), "r0");
  EXPECT_EQ(session->ranks[0].source, (tree.root() / "b.rank1.json").string());
}

TEST(Session, takes_ranks_from_names_and_then_from_the_order) {
  FakeTree tree;
  tree.file("t.rank10.json", trace_of(op("ten", "1")))
      .file("t.rank2.json", trace_of(op("two", "1")))
      .file("plain.json", trace_of(op("plain", "1")));
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 2, 10));
  EXPECT_EQ(session->ranks[0].name_of(0), "plain");
}

TEST(Session, gives_the_second_of_one_rank_a_free_number_and_says_so) {
  FakeTree tree;
  tree.file("a.json", ranked(1)).file("b.json", R"({"distributedInfo": {"rank": 1}, "traceEvents": []})");
  const std::vector<fs::path> paths{tree.root() / "a.json", tree.root() / "b.json"};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 1));
  EXPECT_EQ(test::issue_count(session->ranks[0], "rank_twice"), 1);
}

TEST(Session, takes_a_recording_named_twice_or_packed_beside_itself_once) {
  FakeTree tree;
  tree.file("t.json", trace_of(op("a", "1"))).file("t.json.gz", test::gzip(trace_of(op("a", "1"))));
  const fs::path plain = tree.root() / "t.json";
  for (const std::vector<fs::path>& paths : {std::vector{plain, plain}, std::vector{tree.root()}}) {
    const auto session = read_session(paths);
    ASSERT_TRUE(session.ok());
    EXPECT_EQ(session->ranks.size(), 1U);
    ASSERT_EQ(session->quality.size(), 1U);
    EXPECT_EQ(session->quality[0].id, "copy_left_out");
  }
}

TEST(Session, keeps_ranks_that_did_the_same_at_the_same_time) {
  FakeTree tree;
  tree.file("t.rank0.json", trace_of(op("a", "1"))).file("t.rank1.json", trace_of(op("a", "1")));
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 1));
}

TEST(Session, chooses_by_content_and_not_by_name) {
  FakeTree tree;
  tree.file("profile.csv", test::gzip(trace_of(op("a", "1"))));
  const std::vector<fs::path> paths{tree.root() / "profile.csv"};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->ranks.at(0).format, "kineto");
}

TEST(Session, leaves_out_what_is_no_profile_in_a_folder) {
  FakeTree tree;
  tree.file("a.json", trace_of(op("a", "1"))).file("README.md", "# notes\n").file("labels.json", "{\"x\": 1}");
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->ranks.size(), 1U);
  ASSERT_EQ(session->quality.size(), 1U);
  EXPECT_EQ(session->quality[0].count, 2);
}

TEST(Session, refuses_with_what_the_file_looks_like) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "empty file"},
      {"  \n", "blanks"},
      {"<!DOCTYPE html><html>", "web page"},
      {"PK\x03\x04zip", "zip archive"},
      {std::string("\x7F"
                   "ELF\x02\x01",
                   6),
       "program"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS"},
      {std::string("\x01\x00QuadDCommon\x00", 14), "Nsight Systems report"},
      {"\xFD\x37zXZ", "xz archive"},
      {std::string("\xFF\xFE#\0 \0g\0", 8), "UTF-16"},
      {"\x80\x04\x95\x10 segments", "memory snapshot of PyTorch"},
      {"hello\n", "text of an unknown format"},
      {"{\"a\": 1}", "JSON without"},
      {"[1, 2]", "JSON without"},
      {"[04-03-2021 @ 13:32:39] >  Temp: 58C  Power: 1/250 W  Utilization: 0%  Memory: 0/11019 MiB\n", "a log of GPU"},
      {"[INFO] epoch 1\n", "text of an unknown format"},
      {"[1/100] loss 3\n", "text of an unknown format"},
      {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":[]}", "speedscope"},
      {"[{\"id\":1,\"timestamps\":[{\"name\":\"HTTP_RECV_START\",\"ns\":5294383183578}]}]", "Triton server"},
      {std::string("\x00\x01\x02", 3), "binary data"},
  };
  for (const auto& [bytes, expected] : cases) {
    const auto session = test::read_text(bytes);
    ASSERT_FALSE(session.ok()) << expected;
    EXPECT_EQ(session.error().kind, ErrorKind::data);
    EXPECT_THAT(session.error().what, testing::HasSubstr(expected));
    EXPECT_NE(session.error().hint, "") << expected;
  }
  EXPECT_THAT(test::read_text("==PROF== Connected to process 1\n").error().what, testing::HasSubstr("--csv"));
}

TEST(Session, says_of_an_archive_that_was_cut_at_its_start_that_it_was) {
  for (const std::string& packed : {test::gzip("[]").substr(0, 6), test::zstd(std::string(9999, 'x')).substr(0, 9)}) {
    const auto session = test::read_text(packed);
    ASSERT_FALSE(session.ok());
    EXPECT_THAT(session.error().what, testing::HasSubstr("ends in the middle"));
  }
  EXPECT_THAT(test::read_text(test::gzip(test::gzip("[]"))).error().what, testing::HasSubstr("gzip file within"));
}

TEST(Session, refuses_nothing_and_empty_folders) {
  EXPECT_EQ(read_session({}).error().kind, ErrorKind::usage);
  const FakeTree tree;
  const std::vector<fs::path> paths{tree.root()};
  EXPECT_EQ(read_session(paths).error().kind, ErrorKind::data);
  const std::vector<fs::path> missing{tree.root() / "no"};
  EXPECT_EQ(read_session(missing).error().kind, ErrorKind::data);
}

TEST(Readers, have_ids_and_summaries_and_take_no_foreign_text) {
  for (const TraceReader* reader : readers()) {
    EXPECT_NE(std::string(reader->summary), "");
    EXPECT_EQ(reader->sniff("").score, 0) << reader->id;
    EXPECT_EQ(reader->sniff("hello\nworld\n").score, 0) << reader->id;
    EXPECT_EQ(reader->sniff("\n").score, 0) << reader->id;
  }
  EXPECT_THAT(ids_of(readers()), testing::IsSupersetOf({"kineto", "nsys_sqlite", "ncu_csv", "nvidia_smi_dmon",
                                                        "dcgm_dmon", "nccl_tests"}));
}

}  // namespace
}  // namespace warpmark::profile
