// Tables of fields: what is written, what is read and refused, and the schema, of a small result; and that the schemas
// of the model's documents are those that its tables make.
#include "model/fields/fields.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "model/json/json_parts.h"
#include "support/expect_schema.h"

namespace warpmark {
namespace {

enum class Color { red, green };
constexpr Name kColorNames[] = {{Color::red, "red"}, {Color::green, "green"}, {Color::green, "verdant"}};
constexpr Names names_of(Color) { return kColorNames; }

struct Ends {
  double low = 0;
  double high = 0;
};
struct Leaf {
  std::string id;
  int count = 0;
};
struct Tree {
  std::string name;
  std::string note;
  bool old = false;
  bool is_big = false;
  Color color = Color::red;
  std::int64_t age_ns = 0;
  std::uint64_t seed = 0;
  std::optional<double> height;
  std::optional<Ends> ends;
  std::vector<double> rings;
  std::vector<Leaf> leaves;
  std::vector<std::pair<std::string, double>> shares;
  std::vector<std::vector<std::int64_t>> grid;
};

constexpr Field kEndsFields[] = {field<&Ends::low>("low"), field<&Ends::high>("high")};
constexpr RecordOf<Ends> kEnds{"ends", "", kEndsFields};
constexpr Field kLeafFields[] = {
    field<&Leaf::id>("id").within(kAtLeastOne),
    field<&Leaf::count>("count", "Of veins.").within(kNonNegative).added_later(),
};
constexpr RecordOf<Leaf> kLeaf{"leaf", "What falls.", kLeafFields};
constexpr Name kSizes[] = {{false, "small"}, {true, "big"}};
constexpr Field kAgeFields[] = {field<&Tree::age_ns>("seconds").scaled(1e-9)};
constexpr RecordOf<Tree> kAge{"age", "", kAgeFields};
using Share = std::pair<std::string, double>;
constexpr Field kTreeFields[] = {
    field<&Tree::name>("name", "As people call it."),
    field<&Tree::note>("note").unless_empty().formerly("remark"),
    field<&Tree::old>("old").unless_empty(),
    field<&Tree::is_big>("size").named(kSizes),
    field<&Tree::color>("color"),
    group("age", "", kAge),
    field<&Tree::seed>("seed").decimal_text().added_later(),
    field<&Tree::height>("height").within(kPositive),
    inlined<&Tree::ends>(kEnds),
    field<&Tree::rings>("rings").added_later(),
    field<&Tree::leaves>("leaves", "", kLeaf).added_later(),
    keyed<&Tree::leaves, &Leaf::id>("by_id", "", kLeaf).unless_empty(),
    keyed<&Tree::shares, &Share::first, &Share::second>("shares").unless_empty(),
    field<&Tree::grid>("grid").unless_empty(),
    derived("tall", "", [](const Tree& tree) { return tree.height && *tree.height > 10; }).when([](const Tree& tree) {
      return tree.height.has_value();
    }),
};
constexpr RecordOf<Tree> kTree{"tree", "A tree.", kTreeFields, "warpmark.tree/1"};

Tree full_tree() {
  Tree tree;
  tree.name = "oak";
  tree.is_big = true;
  tree.color = Color::green;
  tree.age_ns = 1'500'000'000;
  tree.seed = ~std::uint64_t{0};
  tree.height = 12.5;
  tree.ends = Ends{1, 2};
  tree.rings = {0.5, 1};
  tree.shares = {{"root", 0.25}};
  tree.grid = {{1, 2}, {}};
  return tree;
}

std::string tree_error(const Json& json) {
  const auto tree = read(kTree, json);
  return tree.ok() ? "" : tree.error().what;
}

TEST(Fields, writes_the_keys_in_the_order_of_the_table) {
  EXPECT_EQ(dump_json(write(kTree, full_tree()), -1),
            R"({"schema":"warpmark.tree/1","name":"oak","size":"big","color":"green","age":{"seconds":1.5},)"
            R"("seed":"18446744073709551615","height":12.5,"low":1.0,"high":2.0,"rings":[0.5,1.0],"leaves":[],)"
            R"("shares":{"root":0.25},"grid":[[1,2],[]],"tall":true})");
}

TEST(Fields, leaves_out_what_is_not_there) {
  EXPECT_EQ(dump_json(write(kTree, Tree{}), -1),
            R"({"schema":"warpmark.tree/1","name":"","size":"small","color":"red","age":{"seconds":0.0},"seed":"0",)"
            R"("rings":[],"leaves":[]})");
}

TEST(Fields, writes_a_list_of_structs_as_an_array_and_as_an_object) {
  Tree tree;
  tree.leaves = {{"a", 3}};
  const Json json = write(kTree, tree);
  EXPECT_EQ(json["leaves"].dump(), R"([{"id":"a","count":3}])");
  EXPECT_EQ(json["by_id"].dump(), R"({"a":{"id":"a","count":3}})");
}

TEST(FieldsDeathTest, stops_at_a_number_that_is_not_finite) {
  Tree tree;
  tree.rings = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_DEATH((void)write(kTree, tree), "isfinite");
}

TEST(Fields, reads_what_it_wrote) {
  const Json json = write(kTree, full_tree());
  const auto tree = read(kTree, json);
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  EXPECT_EQ(write(kTree, *tree), json);
  EXPECT_EQ(tree->age_ns, 1'500'000'000);
  EXPECT_EQ(tree->seed, ~std::uint64_t{0});
  EXPECT_EQ(tree->grid, full_tree().grid);
}

TEST(Fields, reads_files_of_before) {
  Json json = write(kTree, full_tree());
  json.erase("rings");
  json["remark"] = "kept";
  json["color"] = "verdant";
  const auto tree = read(kTree, json);
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  EXPECT_EQ(tree->note, "kept");
  EXPECT_EQ(tree->color, Color::green);
}

TEST(Fields, ignores_unknown_keys_and_nulls) {
  Json json = write(kTree, full_tree());
  json["later"] = 3;
  json["height"] = nullptr;
  const auto tree = read(kTree, json);
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  EXPECT_EQ(tree->height, std::nullopt);
}

TEST(Fields, names_the_place_of_an_error) {
  const Json good = write(kTree, full_tree());
  const auto with = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    return tree_error(json);
  };
  EXPECT_EQ(with("name", nullptr), "name is missing");
  EXPECT_EQ(with("name", 3), "name must be a text, not number 3");
  EXPECT_EQ(with("old", "yes"), "old must be true or false, not string \"yes\"");
  EXPECT_EQ(with("size", "huge"), "size cannot be 'huge'");
  EXPECT_EQ(with("color", "blue"), "color cannot be 'blue'");
  EXPECT_EQ(with("age", Json{{"seconds", "x"}}), "age.seconds must be a number, not string \"x\"");
  EXPECT_EQ(with("age", Json{{"seconds", 1e300}}), "age.seconds must be a number that fits, not number 1e+300");
  EXPECT_EQ(with("seed", "-1"), "seed must be a 64-bit number as decimal text, not '-1'");
  EXPECT_EQ(with("high", nullptr), "high is missing");
  EXPECT_EQ(with("rings", Json::array({1, "x"})), "rings[1] must be a number");
  EXPECT_EQ(with("leaves", 7), "leaves must be an array, not number");
  EXPECT_EQ(with("leaves", Json::array({Json{{"id", "a"}, {"count", 3'000'000'000}}})),
            "leaves[0].count must be a whole number that fits, not number 3000000000");
  EXPECT_EQ(with("leaves", Json::array({Json{{"count", 1}}})), "leaves[0].id is missing");
  EXPECT_EQ(with("shares", Json::array()), "shares must be an object, not array");
  EXPECT_EQ(with("grid", Json::array({Json::array({1}), Json::array({true})})),
            "grid[1][0] must be a whole number that fits");
  EXPECT_EQ(with("schema", "warpmark.tree/2"),
            "the schema is 'warpmark.tree/2', but this version reads warpmark.tree/1");
  EXPECT_EQ(tree_error(Json(7)), "the document must be an object, not number");
}

TEST(Fields, make_a_schema) {
  const Json schema = schema_of(kTree);
  EXPECT_EQ(schema["title"], "warpmark.tree/1");
  EXPECT_EQ(schema["description"], "A tree.");
  EXPECT_EQ(schema["required"].dump(), R"(["schema","name","size","color","age","seed","rings","leaves"])");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["dependencies"].dump(), R"({"low":["high"],"high":["low"]})");
  const auto property = [&](const char* key) { return schema["properties"][key].dump(); };
  EXPECT_EQ(property("schema"), R"({"const":"warpmark.tree/1"})");
  EXPECT_EQ(property("name"), R"({"type":"string","description":"As people call it."})");
  EXPECT_EQ(property("old"), R"({"const":true})");
  EXPECT_EQ(property("size"), R"({"enum":["small","big"]})");
  EXPECT_EQ(property("color"), R"({"enum":["red","green"]})");
  EXPECT_EQ(property("seed"), R"({"type":"string","pattern":"^[0-9]+$"})");
  EXPECT_EQ(property("height"), R"({"type":"number","exclusiveMinimum":0})");
  EXPECT_EQ(property("leaves"), R"({"type":"array","items":{"$ref":"#/definitions/leaf"}})");
  EXPECT_EQ(property("by_id"), R"({"type":"object","additionalProperties":{"$ref":"#/definitions/leaf"}})");
  EXPECT_EQ(property("grid"), R"({"type":"array","items":{"type":"array","items":{"type":"integer"}}})");
  EXPECT_EQ(schema["definitions"]["leaf"].dump(),
            R"({"type":"object","properties":{"id":{"type":"string","minLength":1},)"
            R"("count":{"type":"integer","minimum":0,"description":"Of veins."}},"required":["id","count"],)"
            R"("additionalProperties":false,"description":"What falls."})");
}

TEST(Fields, make_the_schemas_of_the_documents) {
  const Record* const documents[] = {&kAcceptance,        &kAcross,       &kBisection,    &kCheck,
                                     &kComparison,        &kDoctor,       &kMachineState, &kMatrix,
                                     &kMachineSummary,    &kOptimization, &kResults,      &kPowerCaps,
                                     &kProfileDifference, &kScaling,      &kTrend};
  for (const Record* document : documents) testing_support::expect_schema(*document);
}

}  // namespace
}  // namespace warpmark
