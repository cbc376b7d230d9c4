#include "caches/infer/record_sampler.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "recount/error.hpp"
#include "result/curves.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

namespace recount::caches {

namespace {

constexpr const char* study_name = "caches";
// The metrics of page colours, which are observations of the kernel visit.
constexpr const char* colour_metric = "page_colour";
constexpr const char* members_metric = "page_colour_members"; // of the colour before
constexpr const char* incomplete_metric = "page_colours_complete";
constexpr const char* share_metric = "page_colour_misses";  // per line of a colour
constexpr const char* sample_metric = "page_colour_sample"; // pages of it that have a colour
constexpr const char* left_over_metric = "pages_without_colour";

/// A number of the plan, at most `most`.
std::int64_t plan_number(const result::Run& run, const std::string& name, std::int64_t least,
                         std::int64_t most) {
  const auto found = run.plan.find(name);
  if (found == run.plan.end()) throw bad_input("run " + run.id, "its plan has no " + name);
  const auto value = base::parse<std::int64_t>(found->second);
  if (!value || *value < least || *value > most)
    throw bad_input("run " + run.id,
                    fmt::format("its plan has an invalid value ({} = {})", name, found->second));
  return *value;
}

/// The order differs from round to round; the pattern is the same.
kernel::Pattern without_round(kernel::Pattern pattern) {
  pattern.seed %= seeds_per_round;
  return pattern;
}

void add(std::vector<std::vector<double>>& all, std::size_t at, double value) {
  if (all.size() <= at) all.resize(at + 1);
  all[at].push_back(value);
}

} // namespace

std::map<std::string, std::string> record_plan(const Abilities& can) {
  return {{"study", study_name},
          {"witness", can.witness.name()},
          {"times", can.times ? "1" : "0"},
          {"counted", std::to_string(can.counted)},
          {"counted_tlbs", std::to_string(can.counted_tlbs)},
          {"exact", can.exact ? "1" : "0"},
          {"contiguous", can.exact ? "1" : "0"}, // readers of 0.1.0 require it
          {"page", std::to_string(can.page)},
          {"most_bytes", std::to_string(can.most_bytes)},
          {"at_once", std::to_string(can.at_once)}};
}

std::string miss_metric(std::size_t level) {
  return fmt::format("PAPI_L{}_DCM", level + 1);
}
std::optional<std::size_t> level_of_misses(std::string_view metric) {
  for (std::size_t level = 0; level < counted_levels; ++level)
    if (metric == miss_metric(level)) return level;
  return {};
}
std::string tlb_metric(std::size_t level) {
  return fmt::format("MODEL_TLB{}_MISSES", level + 1);
}

void note_huge_pages(result::Observation& o, const HugePages& pages) {
  o.placement["bytes"] = pages.requested;
  o.placement["huge_bytes"] = pages.granted;
}

result::Observation make_observation(const kernel::Pattern& pattern, std::int64_t passes,
                                     const std::string& metric) {
  const auto point = kernel::to_point(pattern, passes);
  result::Observation o;
  o.kernel = point.kernel;
  o.params = point.params;
  o.metric = metric;
  return o;
}

std::vector<result::Observation> colour_observations(const PageColours& colours, std::int64_t page) {
  std::vector<result::Observation> all;
  const auto add = [&](const char* metric, result::Params params, auto value) {
    auto& o = all.emplace_back();
    o.kernel = "visit";
    o.params = std::move(params);
    o.metric = metric;
    o.value = value;
  };
  const auto add_pages = [&](const char* metric, const std::vector<std::int64_t>& pages) {
    kernel::Pattern pattern = kernel::dense(std::ssize(pages), page);
    pattern.slots = pages;
    add(metric, kernel::to_point(pattern, 1).params, std::int64_t{std::ssize(pages)});
  };
  for (std::size_t i = 0; i < colours.smallest.size(); ++i) {
    add_pages(colour_metric, colours.smallest[i]);
    add_pages(members_metric, colours.members[i]);
  }
  for (const ColourReading& r : colours.readings)
    add(share_metric, {{"colour", r.colour}, {"count", r.lines}, {"shift", r.shift}}, r.share);
  if (!colours.incomplete.empty()) {
    add(incomplete_metric, {{"count", colours.pages}, {"stride", page}}, result::Number{});
    all.back().reason = colours.incomplete;
  }
  if (colours.sample > 0)
    add(sample_metric, {{"count", colours.sample}, {"stride", page}}, colours.in_sample);
  add(left_over_metric,
      {{"count", colours.pages}, {"stride", page}, {"mixed", std::int64_t{colours.mixed ? 1 : 0}}},
      colours.unknown.empty() ? result::Number{colours.left_over} : result::Number{});
  all.back().reason = colours.unknown;
  return all;
}

RecordSampler::RecordSampler(const result::Results& results, const result::Run& run) {
  if (!result::is_inference(run))
    throw bad_input("run " + run.id, "has no readings of recount caches",
                    "record some: recount caches -o FILE");
  constexpr std::int64_t most_levels = 8;
  const auto number = [&](const char* name, std::int64_t least, std::int64_t most) {
    return plan_number(run, name, least, most);
  };
  abilities_.witness = run.plan.contains("witness") ? run.plan.at("witness") : "";
  abilities_.times = number("times", 0, 1) != 0;
  abilities_.counted = static_cast<std::size_t>(number("counted", 0, most_levels));
  abilities_.counted_tlbs = static_cast<std::size_t>(number("counted_tlbs", 0, most_levels));
  abilities_.exact = number("exact", 0, 1) != 0;
  abilities_.page = number("page", 64, std::int64_t{1} << 40);
  abilities_.most_bytes = number("most_bytes", 0, std::int64_t{1} << 40);
  abilities_.at_once = static_cast<std::size_t>(number("at_once", 1, 1000));
  for (const auto& o : results.observations)
    if (o.run == run.id && result::is_reading(o)) add_reference(o);
  for (const auto& o : results.observations)
    if (o.run == run.id && result::is_reading(o) && o.metric != reference_metric && !add_colours(o))
      add_reading(o);
}

void RecordSampler::add_reference(const result::Observation& o) {
  if (o.metric != reference_metric) return;
  const auto seconds = result::as_double(o.value);
  if (!seconds || *seconds <= 0) return;
  if (base_ == 0) base_ = *seconds;
  references_[{kernel::to_pattern(o.kernel, o.params), o.repetition}] = *seconds;
}

void RecordSampler::add_reading(const result::Observation& o) {
  const auto requested = o.placement.find("bytes"), granted = o.placement.find("huge_bytes");
  if (requested != o.placement.end() && granted != o.placement.end())
    huge_pages_ = HugePages{requested->second, granted->second};
  const auto pattern = kernel::to_pattern(o.kernel, o.params);
  Rounds& rounds = rounds_[without_round(pattern)];
  const bool timed = is_seconds(o.metric);
  const auto each = timed ? result::ns_per_access(o) : result::per_access(o);
  if (!each) {
    if (timed) rounds.why = o.reason->cause;
    return;
  }
  if (timed) {
    const auto reference = references_.find({pattern, o.repetition});
    rounds.times.add(
        normalised_time(base_, reference == references_.end() ? 0 : reference->second, pattern, *each),
        !result::disturbances(o).empty());
  }
  if (const auto level = level_of_misses(o.metric); level && *level < abilities_.counted)
    add(rounds.misses, *level, *each);
  for (std::size_t level = 0; level < abilities_.counted_tlbs; ++level)
    if (o.metric == tlb_metric(level)) add(rounds.translations, level, *each);
}

/// False when the observation is not of page colours.
bool RecordSampler::add_colours(const result::Observation& o) {
  PageColours colours = colours_.value_or(PageColours{});
  const auto value = result::as_double(o.value);
  const auto number = [&](const char* name) { return result::integer(o.params, name).value_or(0); };
  const auto pages = value && *value >= 0 && *value <= 1e15 ? static_cast<std::int64_t>(*value) : 0;
  if (o.metric == incomplete_metric)
    colours.incomplete = o.reason->cause;
  else if (o.metric == share_metric && value)
    colours.readings.push_back({number("colour"), number("count"), number("shift"), *value});
  else if (o.metric == sample_metric) {
    colours.sample = number("count");
    colours.in_sample = pages;
  } else if (o.metric == members_metric)
    colours.members.push_back(kernel::to_pattern(o.kernel, o.params).slots);
  else if (o.metric == colour_metric)
    colours.smallest.push_back(kernel::to_pattern(o.kernel, o.params).slots);
  else if (o.metric == left_over_metric) {
    if (!value) colours.unknown = o.reason->cause;
    colours.left_over = pages;
    colours.pages = number("count");
    colours.mixed = result::integer(o.params, "mixed").value_or(number("whole")) != 0; // older records: whole
  } else
    return false;
  colours_ = std::move(colours);
  return true;
}

std::vector<Reading> RecordSampler::read(std::span<const kernel::Pattern> patterns) {
  std::vector<Reading> all;
  for (const auto& pattern : patterns) {
    auto& reading = all.emplace_back();
    const auto found = rounds_.find(without_round(pattern));
    if (found == rounds_.end()) continue;
    const Rounds& rounds = found->second;
    reading = make_reading(pattern, rounds.times, rounds.misses);
    reading.translations = make_reading(pattern, {}, rounds.translations).misses;
    if (!reading.ns) reading.why = rounds.why;
  }
  return all;
}

} // namespace recount::caches
