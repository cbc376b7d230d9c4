// Fingerprints of findings, which stay the same while lines move and messages are reworded.
#include "base/hash.hpp"
#include "lint/lint.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace recount::lint {
namespace {

/// Over the parts with a separator that no line contains.
std::string fnv(std::initializer_list<std::string_view> parts) {
  std::uint64_t hash = base::fnv({});
  for (const std::string_view part : parts)
    hash = base::fnv("\n", base::fnv(part, hash));
  return fmt::format("{:016x}", hash);
}

std::string small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// What a row computes: its type, formula and terms; of other rows all fields.
std::string terms(const preset::Line& line) {
  std::string text;
  for (std::size_t i = line.kind == preset::Kind::preset ? 2 : 0; i < line.fields.size(); ++i) {
    const std::string& field = line.fields[i].text;
    if (line.kind == preset::Kind::preset && preset::is_description(field)) break;
    text += (text.empty() ? "" : ",") + field;
  }
  return text;
}

} // namespace

void mark(const preset::Document& table, std::vector<Finding>& findings) {
  std::map<int, std::string> rows;
  for (const preset::Line& line : table.lines)
    rows[line.number] += terms(line);
  for (Finding& finding : findings)
    for (Occurrence& o : finding.occurrences) {
      const auto print = [&](const std::string& cpu) {
        return fnv({finding.rule->id, small_letters(cpu), o.preset, rows[o.place.line], o.cause});
      };
      o.print = print(o.cpu);
      o.row_print = print({});
    }
}

std::string fingerprint(const Finding& finding) {
  std::string least;
  for (const Occurrence& o : finding.occurrences)
    if (least.empty() || o.row_print < least) least = o.row_print;
  return least;
}

} // namespace recount::lint
