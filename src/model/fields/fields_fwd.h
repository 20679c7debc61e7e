// The names of tables of fields, for headers that only declare one.
#pragma once

namespace warpmark {

struct Record;
template <typename T>
struct RecordOf;

}  // namespace warpmark
