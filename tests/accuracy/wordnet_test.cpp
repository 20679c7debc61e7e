#include "accuracy/text/meteor.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/files.h"

namespace warpmark::accuracy {
namespace {

/// A database of three synsets in WordNet's format.
class SmallWordNet : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-wordnet-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const std::string licence = "  1 This software and database is being provided\n";
    for (const std::string part : {"noun", "verb", "adj", "adv"}) {
      write("index." + part, licence);
      write("data." + part, licence);
      write(part + ".exc", "");
    }
    write("index.noun",
          licence + "car n 1 1 @ 1 1 00000100  \nauto n 1 1 @ 1 1 00000100  \nmouse n 1 0 1 0 00000200  \n");
    write("data.noun", licence +
                           "00000100 06 n 03 car 0 auto 0 motor_car 0 001 @ 00000200 n 0000 | a vehicle  \n"
                           "00000200 05 n 02 mouse 0 rodent 0 000 | an animal  \n");
    write("noun.exc", "mice mouse\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) { ASSERT_TRUE(write_file(folder_ / name, text).ok()); }
  std::filesystem::path folder_;
};

TEST_F(SmallWordNet, gives_synonyms_of_base_forms_and_exceptions) {
  const auto wordnet = WordNet::read(folder_);
  ASSERT_TRUE(wordnet.ok()) << wordnet.error().what;
  EXPECT_EQ(wordnet->synonyms("cars"), (std::set<std::string>{"auto", "car"}));
  EXPECT_EQ(wordnet->synonyms("mice"), (std::set<std::string>{"mouse", "rodent"}));
  EXPECT_TRUE(wordnet->synonyms("tree").empty());
  // As in NLTK, words that were stemmed before are looked up by their stems, so that few synonyms are found.
  const std::vector<std::string> references{"a fast auto"};
  EXPECT_NEAR(meteor(references, "a fast car", {}), (1 - 0.5 * 0.125) * 2.0 / 3, 1e-9);
  EXPECT_NEAR(meteor(references, "a fast car", {.wordnet = &*wordnet}), 1 - 0.5 / 27, 1e-9);
}

TEST_F(SmallWordNet, is_refused_where_it_is_damaged) {
  write("data.noun", "00000100 06 n ff car 0\n");
  EXPECT_FALSE(WordNet::read(folder_).ok());
  write("data.noun", "garbage\n");
  EXPECT_FALSE(WordNet::read(folder_).ok());
  EXPECT_FALSE(WordNet::read(folder_ / "none").ok());
  EXPECT_EQ(installed_wordnet(folder_.c_str()), folder_);
}

}  // namespace
}  // namespace warpmark::accuracy
