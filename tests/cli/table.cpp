#include "table.hpp"

#include <fstream>
#include <set>
#include <stdexcept>

namespace recount::test {
namespace {
const std::set<std::string> known{"run",   "exit",      "stdout", "stdout-not", "stderr", "stderr-not",
                                  "env",   "needs",     "as",     "first",      "file",   "creates",
                                  "lacks", "stdout-to", "path",   "leaves",     "within", "widest"};

[[noreturn]] void fail(const std::string& file, int line, const std::string& why) {
  throw std::runtime_error(file + ":" + std::to_string(line) + ": " + why);
}
} // namespace

std::string Row::get(const std::string& key, const std::string& otherwise) const {
  const auto& values = all(key);
  return values.empty() ? otherwise : values.front();
}

const std::vector<std::string>& Row::all(const std::string& key) const {
  static const std::vector<std::string> none;
  const auto it = keys.find(key);
  return it == keys.end() ? none : it->second;
}

std::vector<Row> read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(path, 0, "cannot be read");
  std::vector<Row> rows;
  Row shared; // what precedes the first run of a case
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    if (text.empty() || text[0] == '#') continue;
    const auto colon = text.find(": ");
    if (colon == std::string::npos) fail(path, line, "no \"key: value\"");
    const std::string key = text.substr(0, colon), value = text.substr(colon + 2);
    if (key == "case") {
      rows.push_back({value, path, line, {}});
      continue;
    }
    if (key == "run" && !rows.empty()) {
      if (rows.back().keys.contains("run")) {
        rows.push_back(shared);
        rows.back().line = line;
        rows.back().name += ", line " + std::to_string(line);
      } else {
        shared = rows.back();
      }
    }
    if (!known.contains(key)) fail(path, line, "unknown key " + key);
    if (rows.empty()) fail(path, line, "a key before the first case");
    rows.back().keys[key].push_back(value);
  }
  for (const auto& row : rows) {
    if (row.all("run").size() != 1 || row.all("exit").size() > 1)
      fail(path, row.line, "a case needs a run, and a run has one exit");
  }
  return rows;
}

std::vector<std::string> words(const std::string& command) {
  std::vector<std::string> out;
  bool open = false; // inside a word
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && (c == ' ' || c == '\t')) {
      open = false;
      continue;
    }
    if (!open) out.emplace_back();
    open = true;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      out.back() += command[++i];
    else
      out.back() += c;
  }
  if (quote != 0) throw std::runtime_error("unclosed quote: " + command);
  return out;
}

} // namespace recount::test
