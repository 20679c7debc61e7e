// A program that answers: it gets a JSON line for each request on its standard input and writes a JSON line for each
// answer, in order: {"text": "..."}, or what an OpenAI-compatible server would say. It stays running; one that ends is
// started again for the next request.
#pragma once

#include <memory>
#include <string>

#include "evaluate/models/model.h"

namespace warpmark::evaluate {

/// `command` is run by /bin/sh in a process group of its own, which is killed with the model.
[[nodiscard]] std::unique_ptr<Model> command_model(const std::string& command);

}  // namespace warpmark::evaluate
