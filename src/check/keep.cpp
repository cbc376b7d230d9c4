#include "check/keep.hpp"

#include "base/names.hpp"
#include "witness/metric_events.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>

namespace recount::check {
namespace {

/// "2 times the expected count; likely: prefetches are counted too".
std::string difference(const Judgement& j) {
  const std::string text = j.factor ? relative_text(*j.factor) + " the expected count" : j.why;
  return j.causes.empty() ? text : text + "; likely: " + j.causes.front();
}

/// Of an event, and of a preset that is one event which counts nothing: what else opens that event gets the
/// same count.
std::string encoding_of(const PresetVerdict& v) {
  const bool preset = is_preset(v.preset);
  if (sound(v.verdict) || (preset && v.verdict != Verdict::dead)) return {};
  const auto asked = witness::resolve_metric(v.preset);
  return preset && asked.events.size() != 1 ? std::string() : verdict::encoding_of(asked.events);
}

} // namespace

std::string mark_of(const PresetVerdict& v, const std::string& as) {
  const std::string than = as.empty() || as == v.preset ? std::string() : " from " + as;
  switch (v.verdict) {
  case Verdict::not_counted:
  case Verdict::agrees:
  case Verdict::plausible: break;
  case Verdict::dead: return "dead on this machine";
  case Verdict::unstable: return "unstable in recount check";
  case Verdict::broken_invariant: return "contradicts another preset: " + v.why;
  case Verdict::mapping_differs: return "PAPI and its table row differ: " + v.why;
  case Verdict::meaning_differs:
    // A part that is missing is a statement on several points; else that of the decisive one is complete.
    if (v.trials.empty() || v.why != v.trials.front().judgement.why) return "differs" + than + ": " + v.why;
    return "differs" + than + ": " + difference(v.trials.front().judgement);
  }
  return {};
}

std::vector<verdict::Entry> kept_entries(const CheckPlan& plan, const Checked& checked) {
  constexpr std::size_t longest = 200;
  std::vector<verdict::Entry> entries;
  const std::int64_t now = std::time(nullptr);
  for (const PresetVerdict& v : checked.verdicts) {
    const auto subject = std::ranges::find(plan.subjects, v.preset, &Subject::name);
    const std::string as = subject == plan.subjects.end() ? v.preset : subject->as;
    if (v.verdict == Verdict::not_counted || (as != v.preset && is_preset(v.preset))) continue;
    entries.push_back(
        {v.preset, std::string(name_of(v.verdict)), mark_of(v, as).substr(0, longest), encoding_of(v), now});
  }
  return entries;
}

} // namespace recount::check
