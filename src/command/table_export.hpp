// --export FILE: the tables of a command as CSV or Markdown.
#pragma once

#include "command/output.hpp"

#include <string>
#include <vector>

namespace recount::command {

/// The help of --export, the same in all commands.
inline constexpr const char* export_help = "also write the tables as CSV or Markdown, by the suffix of FILE";

/// Created before the measurement, so that an unwritable file is reported first.
class TableExport {
public:
  /// `path`: ends in .csv or .md; empty: nothing is exported. Throws Error (bad_input) for another suffix and
  /// for a file that cannot be written.
  explicit TableExport(std::string path);
  /// Markdown: one document with the heading `title`. CSV (RFC 4180): the first table in FILE.csv, each
  /// further one in FILE-TITLE.csv; without styles, indentation and digit grouping. Empty tables are left
  /// out. Throws Error (bad_input) when a file cannot be written.
  void write(const std::string& title, const std::vector<Table>& tables) const;

private:
  std::string path_;
};

/// As RFC 4180 defines it, but with "\n" at line ends.
[[nodiscard]] std::string csv_text(const Table& table);

} // namespace recount::command
