#include "store/sql/documents.h"

#include <optional>
#include <utility>

#include "store/location.h"
#include "store/lookup.h"

namespace warpmark::store {

Status attach_document(SqlDatabase& database, const std::string& session_id, const Document& document) {
  const std::string text = hide_password(document.text);
  WM_ASSIGN(auto transaction, Transaction::begin(database, Transaction::Kind::write));
  WM_ASSIGN(const auto session, database.integer("SELECT key FROM sessions WHERE id = ?", {session_id}));
  if (session == 0) return not_begun(session_id);
  WM_ASSIGN(const auto same,
            database.integer("SELECT count(*) FROM documents WHERE session = ? AND document = ?", {session, text}));
  if (same > 0) return {};
  // Documents of a session only go all together, so that their number is the next one's position.
  WM_ASSIGN(const auto position, database.integer("SELECT count(*) FROM documents WHERE session = ?", {session}));
  WM_TRY(
      database.run("INSERT INTO documents (session, position, kind, made, title, bytes, document) VALUES "
                   "(?, ?, ?, ?, ?, ?, ?)",
                   {session, position, document.kind, document.made, hide_password(document.title),
                    static_cast<std::int64_t>(text.size()), text}));
  return transaction.commit();
}

Result<std::vector<DocumentEntry>> list_documents(SqlDatabase& database, const DocumentQuery& query) {
  std::string sql =
      "SELECT s.id, d.position, d.kind, d.made, d.title, s.hostname, s.command, d.bytes FROM documents d JOIN "
      "sessions s ON s.key = d.session WHERE TRUE";
  SqlValues values;
  const std::pair<const char*, const std::string*> conditions[] = {
      {" AND d.kind = ?", &query.kind}, {" AND s.id = ?", &query.session}, {" AND s.hostname = ?", &query.hostname}};
  for (const auto& [condition, wanted] : conditions) {
    if (wanted->empty()) continue;
    sql += condition;
    values.emplace_back(*wanted);
  }
  if (query.before) {
    sql +=
        " AND (d.made, d.key) < (SELECT b.made, b.key FROM documents b JOIN sessions t ON t.key = b.session WHERE "
        "t.id = ? AND b.position = ?)";
    values.emplace_back(query.before->first);
    values.emplace_back(query.before->second);
  }
  values.emplace_back(query.limit);
  std::vector<DocumentEntry> found;
  WM_TRY(database.each(sql + " ORDER BY d.made DESC, d.key DESC LIMIT ?", values, [&](const Row& row) {
    found.push_back(
        {row.text(0), row.integer(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6), row.integer(7)});
    return Status();
  }));
  return found;
}

Result<Document> load_document(SqlDatabase& database, const std::string& session_id, std::int64_t index) {
  std::optional<Document> found;
  WM_TRY(
      database.each("SELECT d.kind, d.made, d.title, d.document FROM sessions s JOIN documents d ON d.session = s.key "
                    "WHERE s.id = ? AND d.position = ?",
                    {session_id, index}, [&](const Row& row) {
                      found = {row.text(0), row.text(1), row.text(2), row.text(3)};
                      return Status();
                    }));
  if (!found) return no_such_document(session_id, index);
  return std::move(*found);
}

}  // namespace warpmark::store
