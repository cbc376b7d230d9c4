// A table of what a user types and what must come out; tests/cli/*.table, whose form README.md there tells.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace recount::test {

/// One run of a case: what the case says before its first run, and "key: value" lines of this run.
struct Row {
  std::string name; ///< "case", of the second run and later ones with the line
  std::string file; ///< where it stands
  int line = 0;
  /// Every other key with its values in order: "run", "exit", "stdout", "stderr", "env", "needs", ...
  std::map<std::string, std::vector<std::string>> keys;

  /// The single value of a key, or `otherwise`.
  [[nodiscard]] std::string get(const std::string& key, const std::string& otherwise = {}) const;
  [[nodiscard]] const std::vector<std::string>& all(const std::string& key) const;
};

/// Throws std::runtime_error with file and line for what it cannot read, unknown keys included.
[[nodiscard]] std::vector<Row> read_table(const std::string& path);

/// Words as a POSIX shell splits them, quotes and backslashes understood, nothing expanded.
[[nodiscard]] std::vector<std::string> words(const std::string& command);

} // namespace recount::test
