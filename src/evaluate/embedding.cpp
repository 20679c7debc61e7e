#include "evaluate/runner.h"

#include <unordered_map>

#include "accuracy/text/unicode.h"
#include "base/sha256.h"
#include "evaluate/items.h"

namespace warpmark::evaluate {
namespace {

/// Servers that embed pictures take them as the messages of a chat (vLLM's interface), texts as `input` (OpenAI's).
Json embedding_request(const std::string& text) { return {{"input", text}, {"encoding_format", "float"}}; }

Json picture_request(const Picture& picture) {
  const Json part{{"type", "image_url"}, {"image_url", {{"url", picture.url}}}};
  return {{"messages", Json::array({{{"role", "user"}, {"content", Json::array({part})}}})},
          {"encoding_format", "float"}};
}

class Embedder {
 public:
  Embedder(Journal& journal, const EmbedOptions& options) : journal_(journal), options_(options) {}

  /// The place of the item that embeds this; one for everything that is the same.
  std::size_t add(Json request, std::vector<Picture> pictures) {
    Item item;
    item.api = Api::embeddings;
    item.hash = sha256_hex(dump_json(request, -1) + "\n" + options_.identity);
    const auto [found, is_new] = places_.emplace(item.hash, items_.size());
    if (is_new) {
      item.request = std::move(request);
      item.pictures = std::move(pictures);
      items_.push_back(std::move(item));
    }
    return found->second;
  }

  Status ask(const MakeModel& make, const std::function<void(const RunnerProgress&)>& progress) {
    WM_ASSIGN(auto result, ask_all(items_, journal_, make, options_.runner, progress));
    if (result.interrupted) {
      return environment_error("interrupted", "embeddings so far are kept; run the same command again to resume");
    }
    failures_ = std::move(result.failures);
    return {};
  }

  /// Into a reference or an answer. Data error where there is no embedding, with why.
  Status take(std::size_t place, std::vector<double>& embedding, Json& fields) const {
    const Reply* reply = journal_.find(items_[place].hash);
    if (reply == nullptr) return data_error(failures_[place]);
    if (reply->extra.is_object() && reply->extra.contains("token_embeddings")) {
      if (!fields.is_object()) fields = Json::object();
      fields["token_embeddings"] = reply->extra["token_embeddings"];
      return {};
    }
    const bool fits =
        reply->extra.is_object() && reply->extra.contains("embedding") && reply->extra["embedding"].is_array();
    if (!fits) return data_error("the server's answer is no embedding");
    embedding.clear();
    for (const auto& value : reply->extra["embedding"]) {
      if (!value.is_number()) return data_error("the server's embedding is no list of numbers");
      embedding.push_back(value.get<double>());
    }
    return {};
  }

 private:
  Journal& journal_;
  const EmbedOptions& options_;
  std::vector<Item> items_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> failures_;
};

}  // namespace

Status embed_examples(accuracy::Examples& examples, Journal& journal, const MakeModel& make,
                      const EmbedOptions& options, const std::function<void(const RunnerProgress&)>& progress) {
  Embedder embedder(journal, options);
  std::vector<std::size_t> references;
  std::vector<std::vector<std::size_t>> answers(examples.systems.size());
  for (const auto& example : examples.examples) {
    if (example.references.empty()) return data_error("example '" + example.id + "' has no reference to embed");
    references.push_back(embedder.add(embedding_request(example.references.front()), {}));
  }
  for (std::size_t s = 0; s < examples.systems.size(); ++s) {
    for (auto& answer : examples.answers[s]) {
      const bool has_picture =
          answer.fields.is_object() && answer.fields.contains("image") && answer.fields["image"].is_string();
      if (answer.problem.empty() && has_picture) {
        WM_ASSIGN(const auto picture, picture_named(answer.fields["image"].get<std::string>(), options.folders[s]));
        answers[s].push_back(embedder.add(picture_request(picture), {picture}));
        continue;
      }
      if (answer.problem.empty() && accuracy::stripped(answer.text).empty()) answer.problem = "is empty";
      // What has a problem is not embedded; the place is nobody's.
      answers[s].push_back(answer.problem.empty() ? embedder.add(embedding_request(answer.text), {}) : SIZE_MAX);
    }
  }
  WM_TRY(embedder.ask(make, progress));
  for (std::size_t i = 0; i < references.size(); ++i) {
    auto& example = examples.examples[i];
    const Status taken = embedder.take(references[i], example.embedding, example.fields);
    if (!taken.ok()) {
      return environment_error("reference '" + example.id + "' could not be embedded: " + taken.error().what,
                               "is it an embedding model? --embedding-model names it");
    }
    for (std::size_t s = 0; s < answers.size(); ++s) {
      if (answers[s][i] == SIZE_MAX) continue;
      auto& answer = examples.answers[s][i];
      const Status done = embedder.take(answers[s][i], answer.embedding, answer.fields);
      if (!done.ok()) answer.problem = done.error().what;
    }
  }
  return {};
}

}  // namespace warpmark::evaluate
