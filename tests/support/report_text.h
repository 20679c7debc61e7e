// What a report says, without how it is laid out.
#pragma once

#include <string>
#include <variant>

#include "model/report.h"

namespace warpmark::testing_support {

/// Sentences, and rows of tables with a bar behind each cell, a line each.
inline std::string text_of(const Report& report) {
  std::string text;
  for (const auto& section : report.sections) {
    for (const auto& block : section.blocks) {
      if (const auto* paragraph = std::get_if<Paragraph>(&block)) text += paragraph->text + "\n";
      const auto* table = std::get_if<Table>(&block);
      if (table == nullptr) continue;
      for (const auto& row : table->rows) {
        for (const auto& cell : row) text += cell.text + " | ";
        text += "\n";
      }
    }
  }
  return text;
}

}  // namespace warpmark::testing_support
