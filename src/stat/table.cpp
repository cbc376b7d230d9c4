#include "command/output.hpp"
#include "stat/report.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace recount::cli {
namespace {

/// Counts whole, ratios with five digits.
std::string show_value(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  if (std::abs(value) >= 1e5 && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.5g}", value);
}

std::string show_deviation(const stat::Summary& s) {
  if (!s.deviation) return {};
  if (*s.mean == 0) return fmt::format("+- {:.3g}", *s.deviation);
  return fmt::format("+- {:.1f} %", 100 * *s.deviation / std::abs(*s.mean));
}

/// "57.1 %" of the time, where events took turns.
std::string show_share(double share) {
  return share < 1 ? fmt::format("{:.1f} %", 100 * share) : std::string();
}

/// Reasons that several rows share are told once, and so are flags.
void add_notes(std::string& text, const std::string& before,
               const std::map<std::string, std::string>& notes) {
  for (const auto& [note, names] : notes)
    text += "  " + wrap(fmt::format("{}{}: {}", before, names, note), 110, 4) + "\n";
}

std::string times_text(const stat::Ended& ended) {
  std::vector<double> took;
  for (const stat::Slice& slice : ended.repetitions)
    took.push_back(slice.end);
  const auto s = stat::summarise(std::move(took));
  if (!s.mean) return "nothing was run";
  if (s.values.size() == 1) return fmt::format("{:.6g} s", *s.mean);
  return fmt::format("{} repetitions of {:.6g} s {}", s.values.size(), *s.mean, show_deviation(s));
}

} // namespace

std::string metrics_table(const metric::Metrics& metrics) {
  std::string text;
  for (const metric::Metric& m : metrics) {
    text += fmt::format("{}  {}\n", paint(Style::strong, m.name), m.unit);
    text += "    " + wrap(m.prose, 100, 4) + "\n";
    for (const metric::Formula& f : m.formulas)
      text += "    = " + f.text + "\n";
  }
  return text;
}

std::string interval_lines(const stat::Plan& plan, const stat::Slice& slice, bool head) {
  std::string text;
  if (head && slice.repetition > 0) text += fmt::format("repetition {}\n", slice.repetition + 1);
  if (head) text += fmt::format("{:>12} {:>16} {}\n", "s", "value", "of");
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const stat::Row& row = plan.rows[r];
    if (!row.refused.empty()) continue; // told at the end
    const auto value = result::as_double(slice.rows[r].value);
    const double share = stat::summarise(std::span(&slice, 1), r).share;
    text += fmt::format("{:>12.6f} {:>16} {}{}{}\n", slice.end, value ? show_value(*value) : "not counted",
                        row.name, row.unit.empty() ? "" : " " + row.unit,
                        share < 1 ? ", counted " + show_share(share) : "");
  }
  return text;
}

std::string stat_table(const stat::Plan& plan, const stat::Ended& ended, const std::string& what,
                       std::FILE* stream) {
  using Align = Table::Align;
  const bool several = ended.repetitions.size() > 1;
  Table table({{""},
               {several ? "mean" : "value", Align::right},
               {"unit"},
               {several ? "deviation" : "", Align::right},
               {"", Align::right}});
  std::map<std::string, std::string> missing, flags;
  const auto note = [](auto& notes, const std::string& why, const std::string& name) {
    std::string& names = notes[why];
    names += (names.empty() ? "" : ", ") + name;
  };
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const stat::Row& row = plan.rows[r];
    const auto s = stat::summarise(ended.repetitions, r);
    for (const std::string& flag : s.flags)
      note(flags, flag, row.name);
    if (!row.refused.empty())
      note(missing, row.refused, row.refused_by.empty() ? row.name : row.name + " (" + row.refused_by + ")");
    else if (s.mean && s.missing > 0)
      note(missing, s.reason,
           fmt::format("{} in {} of {} repetitions", row.name, s.missing, ended.repetitions.size()));
    else if (!s.mean)
      note(missing, s.reason.empty() ? "nothing was run" : s.reason, row.name);
    if (!s.mean) continue;
    const auto counted = show_share(s.share);
    table.add({"  " + row.name, show_value(*s.mean), row.unit, show_deviation(s),
               counted.empty() ? "" : "counted " + counted});
  }
  std::string text = fmt::format("{}: {}\n", what, times_text(ended));
  if (!table.empty()) text += table.text(stream);
  add_notes(text, "not counted: ", missing);
  add_notes(text, "", flags);
  for (const std::string& n : plan.notes)
    text += "  " + wrap(n, 110, 4) + "\n";
  return text;
}

} // namespace recount::cli
