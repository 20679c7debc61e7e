// What makes a whole analysis doubtful and is said at its top: files of which a part is missing, profiles of
// several programs. And what the data does not tell, and how to record it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "model/analysis.h"
#include "model/profile/profile_session.h"

namespace warpmark::analyze {

enum class Loss {
  none,
  cut,      ///< the end is missing
  corrupt,  ///< bytes are not those that were written, and what stands behind them is missing
};

/// The worst of any file of the session.
[[nodiscard]] Loss loss_of(const ProfileSession& session);

/// "The file is cut off", "A file is corrupt" (of several).
[[nodiscard]] std::string loss_text(const ProfileSession& session);

/// Whole sentences, one paragraph each.
[[nodiscard]] std::vector<std::string> cautions_of(const Evidence& evidence);

struct StartUp {
  std::string text;     ///< how long, and in which call
  bool is_all = false;  ///< the rest is less than a hundredth of it: nothing there is worth a headline
};
/// Of a program whose steps nobody marked and that starts for most of the recording.
[[nodiscard]] std::optional<StartUp> start_up_of(const Evidence& evidence);

[[nodiscard]] std::vector<MissingData> missing_data(const Evidence& evidence);

}  // namespace warpmark::analyze
