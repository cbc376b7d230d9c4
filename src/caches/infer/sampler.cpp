#include "caches/infer/sampler.hpp"

#include "base/format.hpp"
#include "recount/error.hpp"
#include "result/curves.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace recount::caches {

namespace {
constexpr std::int64_t shared_from = std::int64_t{8} << 20; ///< bytes; larger patterns reach shared levels
constexpr std::size_t rounds_that_agree = 3;
} // namespace

double at_clock_of(double base, double reference, const kernel::Pattern& pattern, double ns) {
  if (base <= 0 || reference <= 0 || kernel::extent(pattern) > shared_from) return ns;
  return ns * base / reference;
}

Reading summarised(const kernel::Pattern& pattern, const TimedRounds& times,
                   std::span<const std::vector<double>> misses) {
  Reading reading;
  reading.rounds = times.undisturbed.size() + times.disturbed.size();
  reading.disturbed = times.disturbed.size();
  auto ns = times.undisturbed.empty() ? times.disturbed : times.undisturbed;
  if (!ns.empty()) {
    std::ranges::sort(ns);
    reading.ns = kernel::extent(pattern) > shared_from ? statistics::median(ns) : ns.front();
    reading.repeated_ns = ns[std::min(ns.size(), rounds_that_agree) - 1];
  }
  for (const auto& rounds : misses)
    reading.misses.push_back(rounds.empty() ? std::nullopt : std::optional(statistics::median(rounds)));
  return reading;
}

double time_of(const Reading& reading, const char* otherwise) {
  if (!reading.ns) throw Unknown{reading.why.empty() ? otherwise : reading.why};
  return *reading.ns;
}

std::vector<Reading> CachedSampler::read(std::span<const kernel::Pattern> patterns) {
  std::set<kernel::Pattern> requested;
  std::vector<kernel::Pattern> fresh;
  for (const auto& pattern : patterns)
    if (!taken_.contains(pattern) && requested.insert(pattern).second) fresh.push_back(pattern);
  if (!fresh.empty()) {
    auto readings = sampler_.read(fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i)
      taken_.emplace(fresh[i], std::move(readings[i]));
  }
  std::vector<Reading> all;
  for (const auto& pattern : patterns)
    all.push_back(taken_.at(pattern));
  return all;
}

namespace {

constexpr const char* study_name = "caches";
constexpr const char* colour_metric = "page_colour";
constexpr const char* members_metric = "page_colour_members"; // of the colour before
constexpr const char* incomplete_metric = "page_colours_complete";
constexpr const char* share_metric = "page_colour_misses";  // per line of a colour
constexpr const char* sample_metric = "page_colour_sample"; // pages of it that have a colour
constexpr const char* left_over_metric = "pages_without_colour";

std::int64_t plan_number(const result::Run& run, const std::string& name) {
  const auto found = run.plan.find(name);
  if (found == run.plan.end()) throw bad_input("run " + run.id, "its plan has no " + name);
  const std::string& text = found->second;
  const auto value = base::parse<std::int64_t>(text);
  if (!value || *value < 0)
    throw bad_input("run " + run.id, fmt::format("its plan has an invalid value ({} = {})", name, text));
  return *value;
}

/// The order differs from round to round; the pattern is the same.
kernel::Pattern of_any_round(kernel::Pattern pattern) {
  pattern.seed %= seeds_per_round;
  return pattern;
}

/// A recorded number of pages; 0 where it is none.
std::int64_t pages_of(double value) {
  constexpr double most = 1e15;
  return value >= 0 && value <= most ? static_cast<std::int64_t>(value) : 0;
}

void add(std::vector<std::vector<double>>& all, std::size_t at, double value) {
  if (all.size() <= at) all.resize(at + 1);
  all[at].push_back(value);
}

} // namespace

std::map<std::string, std::string> record_plan(const Abilities& can) {
  const auto text = [](auto number) { return std::to_string(number); };
  return {{"study", study_name},
          {"witness", can.witness.name()},
          {"times", text(can.times ? 1 : 0)},
          {"counted", text(can.counted)},
          {"counted_tlbs", text(can.counted_tlbs)},
          {"exact", text(can.exact ? 1 : 0)},
          {"contiguous", text(can.contiguous ? 1 : 0)},
          {"page", text(can.page)},
          {"most_bytes", text(can.most_bytes)},
          {"at_once", text(can.at_once)}};
}

std::string miss_metric(std::size_t level) {
  return fmt::format("PAPI_L{}_DCM", level + 1);
}
std::optional<std::size_t> level_of_misses(std::string_view metric) {
  constexpr std::string_view before = "PAPI_L", after = "_DCM";
  if (!metric.starts_with(before) || !metric.ends_with(after) ||
      metric.size() != before.size() + 1 + after.size())
    return {};
  const int level = metric[before.size()] - '1';
  return level >= 0 && level < static_cast<int>(counted_levels) ? std::optional<std::size_t>(level)
                                                                : std::nullopt;
}
std::string tlb_metric(std::size_t level) {
  return fmt::format("MODEL_TLB{}_MISSES", level + 1);
}

void note_huge_pages(result::Observation& o, const HugePages& pages) {
  o.placement["bytes"] = pages.requested;
  o.placement["huge_bytes"] = pages.granted;
}

std::optional<HugePages> huge_pages_of(const result::Observation& o) {
  const auto requested = o.placement.find("bytes"), granted = o.placement.find("huge_bytes");
  if (requested == o.placement.end() || granted == o.placement.end()) return {};
  return HugePages{requested->second, granted->second};
}

std::vector<result::Observation> colour_observations(const PageColours& colours, std::int64_t page) {
  std::vector<result::Observation> all;
  const auto add_pages = [&](const std::vector<std::int64_t>& pages, const char* metric) {
    kernel::Pattern pattern = kernel::dense(std::ssize(pages), page);
    pattern.slots = pages;
    pattern.offset = colours.offset;
    const auto point = kernel::to_point(pattern, 1);
    auto& o = all.emplace_back();
    o.kernel = point.kernel;
    o.params = point.params;
    o.metric = metric;
    o.value = std::int64_t{std::ssize(pages)};
  };
  for (std::size_t i = 0; i < colours.smallest.size(); ++i) {
    add_pages(colours.smallest[i], colour_metric);
    if (i < colours.members.size()) add_pages(colours.members[i], members_metric);
  }
  for (const ColourReading& reading : colours.readings) {
    auto& o = all.emplace_back();
    o.kernel = "visit";
    o.params = {{"colour", reading.colour}, {"count", reading.lines}, {"shift", reading.shift}};
    o.metric = share_metric;
    o.value = reading.share;
  }
  if (!colours.incomplete.empty()) {
    auto& o = all.emplace_back();
    o.kernel = "visit";
    o.params = {{"count", colours.pages}, {"stride", page}, {"offset", colours.offset}};
    o.metric = incomplete_metric;
    o.reason = colours.incomplete;
  }
  if (colours.sample > 0) {
    auto& o = all.emplace_back();
    o.kernel = "visit";
    o.params = {{"count", colours.sample}, {"stride", page}, {"offset", colours.offset}};
    o.metric = sample_metric;
    o.value = colours.in_sample;
  }
  auto& rest = all.emplace_back();
  rest.kernel = "visit";
  rest.params = {{"count", colours.pages},
                 {"stride", page},
                 {"offset", colours.offset},
                 {"whole", std::int64_t{colours.whole ? 1 : 0}},
                 {"mixed", std::int64_t{colours.mixed ? 1 : 0}}};
  rest.metric = left_over_metric;
  rest.reason = colours.unknown;
  if (colours.unknown.empty()) rest.value = colours.left_over;
  return all;
}

RecordSampler::RecordSampler(const result::Results& results, const result::Run& run) {
  if (!result::is_inference(run))
    throw bad_input("run " + run.id, "has no readings of recount caches",
                    "record some: recount caches -o FILE");
  abilities_.witness = run.plan.contains("witness") ? run.plan.at("witness") : "";
  abilities_.times = plan_number(run, "times") != 0;
  abilities_.counted = static_cast<std::size_t>(plan_number(run, "counted"));
  abilities_.counted_tlbs = static_cast<std::size_t>(plan_number(run, "counted_tlbs"));
  abilities_.exact = plan_number(run, "exact") != 0;
  abilities_.contiguous = plan_number(run, "contiguous") != 0;
  abilities_.page = plan_number(run, "page");
  abilities_.most_bytes = plan_number(run, "most_bytes");
  abilities_.at_once = static_cast<std::size_t>(plan_number(run, "at_once"));
  if (abilities_.page < 64 || abilities_.at_once < 1 || abilities_.at_once > 1000 || abilities_.counted > 8 ||
      abilities_.counted_tlbs > 8 || abilities_.most_bytes > std::int64_t{1} << 40)
    throw bad_input("run " + run.id, "its plan has abilities that no witness has");
  for (const auto& observation : results.observations)
    if (observation.run == run.id) take_reference(observation);
  for (const auto& observation : results.observations)
    if (observation.run == run.id) take(observation);
}

void RecordSampler::take_reference(const result::Observation& o) {
  if (o.metric != reference_metric || !result::is_reading(o)) return;
  const auto seconds = result::as_double(o.value);
  if (!seconds || *seconds <= 0) return;
  if (base_ == 0) base_ = *seconds;
  references_[{kernel::to_pattern(o.kernel, o.params), o.repetition}] = *seconds;
}

void RecordSampler::take(const result::Observation& o) {
  if (!result::is_reading(o)) return;
  if (o.metric == colour_metric || o.metric == left_over_metric || o.metric == members_metric ||
      o.metric == incomplete_metric || o.metric == share_metric || o.metric == sample_metric)
    return take_colours(o);
  if (const auto pages = huge_pages_of(o)) huge_pages_ = pages;
  if (o.metric == reference_metric) return;
  const auto pattern = kernel::to_pattern(o.kernel, o.params);
  Rounds& rounds = rounds_[of_any_round(pattern)];
  const auto each = o.metric == "seconds" ? result::ns_per_access(o) : result::per_access(o);
  if (!each) {
    if (o.metric == "seconds") rounds.why = o.reason.get().cause;
    return;
  }
  if (o.metric == "seconds") {
    const auto beside = references_.find({pattern, o.repetition});
    const double reference = beside == references_.end() ? 0 : beside->second;
    rounds.times.add(at_clock_of(base_, reference, pattern, *each), !result::disturbances(o).empty());
  }
  if (const auto level = level_of_misses(o.metric); level && *level < abilities_.counted)
    add(rounds.misses, *level, *each);
  for (std::size_t level = 0; level < abilities_.counted_tlbs; ++level)
    if (o.metric == tlb_metric(level)) add(rounds.translations, level, *each);
}

void RecordSampler::take_colours(const result::Observation& o) {
  if (!colours_) colours_.emplace();
  const auto value = result::as_double(o.value);
  if (o.metric == incomplete_metric) {
    colours_->incomplete = o.reason.get().cause;
  } else if (!value) {
    colours_->unknown = o.reason.get().cause;
  } else if (o.metric == share_metric) {
    const auto number = [&](const char* name) { return result::integer(o.params, name).value_or(0); };
    colours_->readings.push_back({number("colour"), number("count"), number("shift"), *value});
  } else if (o.metric == sample_metric) {
    colours_->sample = result::integer(o.params, "count").value_or(0);
    colours_->in_sample = pages_of(*value);
  } else if (o.metric == members_metric) {
    colours_->members.push_back(kernel::to_pattern(o.kernel, o.params).slots);
  } else if (o.metric == colour_metric) {
    colours_->smallest.push_back(kernel::to_pattern(o.kernel, o.params).slots);
  } else {
    colours_->left_over = pages_of(*value);
    colours_->pages = result::integer(o.params, "count").value_or(0);
    colours_->offset = result::integer(o.params, "offset").value_or(0);
    colours_->whole = result::integer(o.params, "whole").value_or(0) != 0;
    colours_->mixed = result::integer(o.params, "mixed").value_or(colours_->whole ? 1 : 0) != 0;
  }
}

std::vector<Reading> RecordSampler::read(std::span<const kernel::Pattern> patterns) {
  std::vector<Reading> all;
  for (const auto& pattern : patterns) {
    const auto found = rounds_.find(of_any_round(pattern));
    if (found == rounds_.end()) {
      all.emplace_back();
      continue;
    }
    const Rounds& rounds = found->second;
    auto& reading = all.emplace_back(summarised(pattern, rounds.times, rounds.misses));
    if (!reading.ns) reading.why = rounds.why;
    for (const auto& of_level : rounds.translations)
      reading.translations.push_back(of_level.empty() ? std::nullopt
                                                      : std::optional(statistics::median(of_level)));
  }
  return all;
}

} // namespace recount::caches
