// Measured proposals as a preset table, each row with its evidence as comments.
#include "base/format.hpp"
#include "propose/comment.hpp"
#include "propose/measured.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::propose {
namespace {

constexpr std::size_t most_named = 8;

std::string alternatives(const MeasuredPreset& row) {
  std::vector<std::string> texts;
  for (std::size_t i = 1; i < row.fits.found.size() && i <= most_named; ++i)
    texts.push_back(text_of(row.fits.found[i]));
  std::string text = fmt::format("  cannot be told apart by these kernels: {}", fmt::join(texts, "; "));
  if (row.fits.found.size() > most_named + 1)
    text += fmt::format("; and {} more", row.fits.found.size() - 1 - most_named);
  return text;
}

std::string row_text(const MeasuredPreset& row) {
  const Fit& first = row.fits.found.front();
  const std::string by = row.from.empty() ? std::string("measured")
                                          : fmt::format("measured, and from {}", fmt::join(row.from, " "));
  std::string text = comment(
      fmt::format("{}: {}; {}, {} of them not 0; residual {:.2f} of the noise; kernels: {}; confidence: {}",
                  row.preset, by, base::format_count(row.fits.points, "point"), row.fits.positive,
                  first.residual, fmt::join(row.kernels, ", "), name_of(row.confidence)));
  if (!row.against.empty())
    text += comment("  the counts contradict the formula of relatives: " + row.against);
  for (const std::string& same : row.same)
    text += comment("  the same counts everywhere as " + same);
  if (row.fits.found.size() > 1) text += comment(alternatives(row));
  if (!row.decider.empty()) text += comment("  to decide: a kernel with a known count like " + row.decider);
  if (!row.tight) text += comment("  bounds alone: twice or half the count would be accepted as well");
  if (!row.fits.complete) text += comment("  the search ended early: there may be other formulas");
  if (!row.verdict.empty()) text += comment("  recount check: " + row.verdict);
  // What is not decided, or refuted, is evidence and not a row for PAPI to read.
  const bool refuted = !row.verdict.empty() && row.verdict != "agrees" && row.verdict != "plausible";
  const std::string line = row_of(row.preset, first) + "\n";
  if (row.confidence != Confidence::low && !refuted) return text + line;
  return text + (refuted ? "# refuted: " : "# undecided: ") + line;
}

} // namespace

std::string csv_of(const MeasuredProposals& proposals, const std::string& unchecked) {
  std::string text = comment(fmt::format(
      "Presets of {}, proposed by recount {} from the counts of {} at {}.", proposals.cpu, RECOUNT_VERSION,
      base::format_count(proposals.events, "event"), base::format_count(proposals.places, "point")));
  if (!unchecked.empty()) text += comment(unchecked);
  for (const auto& [how, events] : proposals.unusable)
    text +=
        comment(base::format_count(events.size(), "event is ", "events are ") + std::string(name_of(how)));
  text += comment(base::format_count(proposals.distinct, "usable event has counts of its own",
                                     "usable events have counts of their own"));
  text += "CPU," + proposals.cpu + "\n";
  for (const MeasuredPreset& row : proposals.rows)
    text += row_text(row);
  if (!proposals.missing.empty()) text += comment("Not proposed:");
  std::map<std::string, std::vector<std::string>> reasons;
  for (const Unproposed& one : proposals.missing)
    reasons[one.reason].push_back(one.preset);
  for (const auto& [reason, presets] : reasons)
    text += comment(fmt::format("  {}: {}", reason, fmt::join(presets, " ")));
  return text;
}

} // namespace recount::propose
