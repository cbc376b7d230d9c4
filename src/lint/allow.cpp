// "# recount: allow RULE reason" above a row suppresses the rule there; above a CPU row, for its whole block.
#include "lint/lint.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace recount::lint {
namespace {

struct Allowance {
  std::string rule, reason;
  int line = 0;
  int from = 0, to = 0;   ///< the lines it covers
  std::size_t places = 0; ///< that it suppressed
};

std::string word(std::string_view& text) {
  text = preset::trim_blanks(text);
  const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
  std::string found(text.substr(0, end));
  text.remove_prefix(end);
  return found;
}

/// The last line of the block whose CPU row is lines[at].
int block_end(const preset::Document& table, std::size_t at) {
  bool rows = false;
  int last = table.lines[at].number;
  for (; at < table.lines.size(); ++at) {
    if (table.lines[at].kind == preset::Kind::cpu && rows) return last;
    rows = rows || table.lines[at].kind == preset::Kind::preset;
    last = table.lines[at].number;
  }
  return last;
}

std::vector<Allowance> allowances(const preset::Document& table) {
  std::vector<Allowance> found;
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    if (table.lines[i].kind != preset::Kind::comment) continue;
    std::string_view text = table.lines[i].comment;
    if (word(text) != "recount:" || word(text) != "allow") continue;
    Allowance allowance{word(text), {}, table.lines[i].number};
    allowance.reason = preset::trim_blanks(text);
    std::size_t next = i + 1;
    while (next < table.lines.size() &&
           (table.lines[next].kind == preset::Kind::comment || table.lines[next].kind == preset::Kind::blank))
      ++next;
    if (next < table.lines.size()) {
      allowance.from = table.lines[next].number;
      allowance.to = table.lines[next].kind == preset::Kind::cpu ? block_end(table, next) : allowance.from;
    }
    found.push_back(std::move(allowance));
  }
  return found;
}

} // namespace

void apply_allowances(const preset::Document& table, bool all_cpus, LintResult& result) {
  std::vector<Finding>& findings = result.findings;
  auto allowed = allowances(table);
  for (Finding& finding : findings) {
    std::vector<Occurrence> loud;
    for (const Occurrence& occurrence : finding.occurrences) {
      bool silent = false;
      for (Allowance& a : allowed)
        if (a.rule == finding.rule->id && occurrence.place.line >= a.from && occurrence.place.line <= a.to &&
            !a.reason.empty())
          silent = ++a.places > 0;
      if (!silent) loud.push_back(occurrence);
    }
    if (loud.size() < finding.occurrences.size()) finding.keep(std::move(loud));
  }
  std::erase_if(findings, [](const Finding& finding) { return finding.places.empty(); });
  for (const Allowance& a : allowed) {
    if (a.places > 0) result.allowed.push_back({a.line, a.rule, a.reason, a.places});
    if (a.places > 0 || (!all_cpus && rule_named(a.rule) && !a.reason.empty())) continue;
    std::string message = fmt::format("the allowance of {} suppresses no finding", a.rule);
    if (!rule_named(a.rule))
      message = fmt::format("the allowance names an unknown rule: '{}'", a.rule);
    else if (a.reason.empty())
      message = fmt::format("the allowance of {} has no reason", a.rule);
    findings.push_back({rule_named("unused-allowance"),
                        std::move(message),
                        {},
                        {{a.line, 1}},
                        {},
                        {},
                        {},
                        0,
                        {{{a.line, 1}, {}, {}, a.rule, {}, {}}}});
  }
}

} // namespace recount::lint
