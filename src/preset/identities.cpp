#include "preset/view.hpp"

#include "preset/identities_data.hpp" // made from data/identities.txt by the build
#include "preset/preset_table.hpp"
#include "preset/standard.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::preset {
namespace {

std::string_view trim(std::string_view text) {
  text = trim_blanks(text);
  while (!text.empty() && text.back() == '\r')
    text.remove_suffix(1);
  return trim_blanks(text);
}

class LineReader {
public:
  LineReader(std::string_view line, std::string where) : rest_(line), where_(std::move(where)) {}

  Identity read() {
    Identity identity;
    const std::string_view relation = column();
    identity.text = std::string(relation);
    std::size_t at = relation.find("<=");
    identity.at_most = at != std::string_view::npos;
    if (!identity.at_most) at = relation.find('=');
    if (at == std::string_view::npos) fail("neither = nor <= in '" + std::string(relation) + "'");
    identity.left = sum(relation.substr(0, at));
    identity.right = sum(relation.substr(at + (identity.at_most ? 2 : 1)));
    identity.kind = kind(column());
    identity.why = std::string(trim(rest_));
    if (identity.why.empty()) fail("the reason is missing");
    return identity;
  }

private:
  [[noreturn]] void fail(const std::string& why) const {
    throw bad_input(where_, why, "write RELATION | any, load-store or cisc | WHY");
  }
  std::string_view column() {
    const std::size_t bar = rest_.find('|');
    if (bar == std::string_view::npos) fail("three columns, separated by |, are required");
    const std::string_view text = trim(rest_.substr(0, bar));
    rest_.remove_prefix(bar + 1);
    return text;
  }
  CpuKind kind(std::string_view word) const {
    if (word == "any") return CpuKind::any;
    if (word == "load-store") return CpuKind::load_store;
    if (word == "cisc") return CpuKind::cisc;
    fail("unknown kind of CPU: '" + std::string(word) + "'");
  }
  std::vector<std::string> sum(std::string_view text) const {
    std::vector<std::string> presets;
    while (true) {
      const std::size_t plus = std::min(text.find('+'), text.size());
      std::string name = "PAPI_" + std::string(trim(text.substr(0, plus)));
      if (!standard_preset(name)) fail("no such preset: '" + name + "'");
      presets.push_back(std::move(name));
      if (plus == text.size()) return presets;
      text.remove_prefix(plus + 1);
    }
  }

  std::string_view rest_;
  std::string where_;
};

} // namespace

std::vector<Identity> parse_identities(std::string_view text, const std::string& file) {
  std::vector<Identity> found;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    found.push_back(LineReader(line, file + ":" + std::to_string(number)).read());
  }
  return found;
}

std::string_view identities_text() noexcept {
  return identities_data;
}

const std::vector<Identity>& identities() {
  static const std::vector<Identity> built_in = parse_identities(identities_data, "identities.txt");
  return built_in;
}

} // namespace recount::preset
