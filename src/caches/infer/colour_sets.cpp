#include "caches/infer/colour_sets.hpp"

#include "base/random.hpp"
#include "caches/infer/conflict_sets.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace recount::caches {

namespace {

constexpr std::size_t most_colours_tried = 8, least_colours = 3;
constexpr std::size_t most_lines_tried = 34;
constexpr std::int64_t surely_fit = 4;      ///< lines of one colour: no second level has fewer ways
constexpr std::int64_t least_reference = 3; ///< lines that show the time of a hit; fewer stay above
constexpr std::size_t most_of_another = 4;  ///< lines of one other colour: no second level has fewer ways
constexpr int rounds_of_colours = 4, least_rounds = 2; ///< the latter even when time is over: they are brief
constexpr double least_penalty = 0.1;                  ///< of what the working sets show
constexpr double clear_overflow = 0.2;                 ///< share of the lines that miss
constexpr double least_ways_probability = 0.6;         ///< for one colour, whose ways one reading decides
constexpr std::int64_t farthest_shift = 512,
                       least_range = 256; ///< bytes: longer lines than the latter are not told

using Readings = std::vector<StrideReading>;

/// The value that most trials show, and how many; nothing unless three of four that show one agree.
std::optional<std::pair<std::int64_t, std::size_t>>
majority(const std::vector<ColourTrial>& trials, std::optional<std::int64_t> ColourTrial::*value) {
  std::map<std::int64_t, std::size_t> votes;
  std::size_t all = 0;
  for (const ColourTrial& trial : trials)
    if (const auto& vote = trial.*value) {
      ++votes[*vote];
      ++all;
    }
  if (votes.empty()) return {};
  const auto most = *std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  if (most.second < least_colours || 4 * most.second < 3 * all) return {};
  return most;
}

/// Takes the readings.
class ColourMeasurement {
public:
  ColourMeasurement(Sampler& sampler, PageColours& colours, const ColourTask& task,
                    const std::vector<std::int64_t>& spare)
      : sampler_(sampler), colours_(colours), task_(task), spare_(spare), random_(task.seed) {}

  void run() {
    const auto tried = static_cast<std::int64_t>(std::min(colours_.members.size(), most_colours_tried));
    if (tried < static_cast<std::int64_t>(least_colours)) return;
    // Most of a few colours, where there are no more of them; the smallest group may lack lines.
    const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    if (!colours_.smallest.empty())
      of_another_ = std::max(most_of_another, std::ranges::min_element(colours_.smallest, fewer)->size() / 2);
    const auto above = static_cast<std::size_t>(task_.ways_above);
    const std::size_t others =
        std::min(2 * above + 2, of_another_ * (colours_.members.size() - 1) + spare_.size());
    if (2 * others < 3 * above) return; // L1 would hold the lines
    std::vector<Trial> trials;
    for (std::int64_t colour = 0; colour < tried; ++colour)
      for (std::size_t n = 1; n <= std::min(members(colour).size(), most_lines_tried); ++n)
        trials.push_back({{colour, static_cast<std::int64_t>(n), 0, 0}, others});
    take(trials);
    const auto ways = decide_colour_sets(colours_).ways;
    // Lines that are shifted must not fall into the place of the next one.
    const std::int64_t farthest = colours_.whole ? std::min(farthest_shift, task_.apart / 2) : farthest_shift;
    if (!ways || farthest < least_range) return;
    trials.clear();
    for (std::int64_t colour = 0; colour < tried; ++colour) {
      const auto lines = std::min(2 * *ways, std::ssize(members(colour)) / 2 * 2);
      if (lines > *ways + 1)
        for (std::int64_t d = 8; d <= farthest; d *= 2)
          trials.push_back({{colour, lines, d, 0}, 4 * static_cast<std::size_t>(task_.ways_above)});
    }
    take(trials);
  }

private:
  struct Trial {
    ColourReading reading;
    std::size_t others = 0; ///< lines of other colours
    double together = std::numeric_limits<double>::infinity(), apart = together;
    std::size_t visits = 0; ///< pages
  };

  [[nodiscard]] const std::vector<std::int64_t>& members(std::int64_t colour) const {
    return colours_.members[static_cast<std::size_t>(colour)];
  }

  /// Pages of all colours but this one in turn, so few of each that they fit.
  [[nodiscard]] std::vector<std::int64_t> others_of(std::int64_t colour, std::size_t count) const {
    std::vector<std::int64_t> others;
    for (std::size_t at = 0; at < of_another_; ++at)
      for (std::size_t other = 0; other < colours_.members.size(); ++other)
        if (static_cast<std::int64_t>(other) != colour && at < colours_.members[other].size())
          others.push_back(colours_.members[other][at]);
    if (others.size() < count) others.insert(others.end(), spare_.begin(), spare_.end());
    return spread_over_page_sets(others, count, task_);
  }

  [[nodiscard]] std::vector<std::int64_t> pages_of(const Trial& trial) const {
    const auto& own = members(trial.reading.colour);
    auto pages = others_of(trial.reading.colour, trial.others);
    pages.insert(pages.begin(), own.begin(), own.begin() + trial.reading.lines);
    return pages;
  }

  void look(Trial& trial) {
    const auto pages = pages_of(trial);
    trial.visits = pages.size();
    const auto page = static_cast<std::uint64_t>(task_.page), line = static_cast<std::uint64_t>(task_.line);
    if (colours_.whole) {
      trial.together = std::min(
          trial.together, sampler_.glance(places_of_whole_pages(pages, task_, random_, trial.reading.shift)));
      // Whole pages have no lines that could be spread: as many other pages take what translation costs.
      const auto fitting = others_of(trial.reading.colour, pages.size());
      trial.apart = std::min(trial.apart, sampler_.glance(places_of_whole_pages(fitting, task_, random_)));
      return;
    }
    std::vector<std::uint64_t> together, apart;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const std::uint64_t base = static_cast<std::uint64_t>(pages[i]) * page;
      together.push_back(
          base + static_cast<std::uint64_t>(colours_.offset + (i % 2 == 1 ? trial.reading.shift : 0)));
      apart.push_back(base + i % (page / line) * line + 8);
    }
    const std::uint64_t seed = random_;
    for (auto* places : {&together, &apart}) { // in one order
      random_ = seed;
      shuffle_places(*places, random_);
    }
    trial.together = std::min(trial.together, sampler_.glance(together));
    trial.apart = std::min(trial.apart, sampler_.glance(apart));
  }

  void take(std::vector<Trial>& trials) {
    for (int round = 0; round < rounds_of_colours; ++round)
      for (Trial& trial : trials) {
        if (round >= least_rounds && sampler_.out_of_time()) break;
        look(trial);
      }
    if (step_ == 0) calibrate(trials);
    for (Trial& trial : trials) {
      trial.reading.share = pages_lost(trial) / penalty_ / static_cast<double>(trial.reading.lines);
      colours_.readings.push_back(trial.reading);
    }
  }

  [[nodiscard]] double pages_lost(const Trial& trial) const { // times the penalty
    return (trial.together - trial.apart - step_) * static_cast<double>(trial.visits);
  }

  /// Three or four lines of a colour fit, which tells the time of a hit. As many as there are mostly
  /// overflow: what that takes is the cost of a miss here and now, unless it is so little that nothing seems
  /// to overflow.
  void calibrate(const std::vector<Trial>& trials) {
    std::vector<double> fitting;
    for (const Trial& trial : trials)
      if (trial.reading.lines >= least_reference && trial.reading.lines <= surely_fit)
        fitting.push_back(trial.together - trial.apart);
    if (fitting.empty()) throw Unknown{"no page colour has pages enough to tell the time of a hit"};
    step_ = statistics::median(fitting);
    std::map<std::int64_t, double> most;
    for (const Trial& trial : trials) // lines ascend within a colour
      most[trial.reading.colour] = pages_lost(trial) / static_cast<double>(trial.reading.lines);
    std::vector<double> penalties;
    for (const auto& [colour, penalty] : most)
      penalties.push_back(penalty);
    penalty_ = std::max(statistics::median(penalties), least_penalty * task_.penalty);
  }

  Sampler& sampler_;
  PageColours& colours_;
  const ColourTask& task_;
  const std::vector<std::int64_t>& spare_;
  std::uint64_t random_;
  std::size_t of_another_ = most_of_another; ///< lines of one other colour that fit
  double step_ = 0;    ///< ns: what a hit in the level takes beyond one in the level above
  double penalty_ = 0; ///< ns of a miss
};

/// The ways that one colour shows: overflow must have been seen.
std::optional<std::int64_t> ways_of(const Readings& readings) {
  const auto decision = decide_ways(readings);
  if (!decision || decision->probability < least_ways_probability) return {};
  if (readings.back().lines <= decision->ways || decision->ways < surely_fit) return {};
  return decision->ways;
}

/// The first shift that fits, if all smaller ones overflow and all larger ones fit.
std::optional<std::int64_t> line_of(const std::vector<ColourReading>& shifts) {
  std::optional<std::int64_t> line;
  for (const ColourReading& reading : shifts) {
    const bool overflows = reading.share >= clear_overflow;
    if (overflows && line) return {};
    if (!overflows && !line) line = reading.shift;
  }
  return line && *line > shifts.front().shift ? line : std::nullopt;
}

} // namespace

void shuffle_places(std::vector<std::uint64_t>& places, std::uint64_t& random) {
  for (std::size_t i = places.size(); i > 1; --i)
    std::swap(places[i - 1], places[base::random_below(random, i)]);
}

std::vector<std::int64_t> spread_over_page_sets(const std::vector<std::int64_t>& pages, std::size_t count,
                                                const ColourTask& task) {
  const auto sets = static_cast<std::size_t>(task.page_sets_above);
  std::vector<std::vector<std::int64_t>> by_set(sets);
  for (const std::int64_t page : pages)
    by_set[static_cast<std::size_t>(page) % sets].push_back(page);
  std::vector<std::int64_t> chosen;
  for (std::size_t at = 0; at < pages.size() && chosen.size() < count; ++at)
    for (const auto& of_set : by_set)
      if (at < of_set.size() && chosen.size() < count) chosen.push_back(of_set[at]);
  return chosen;
}

std::vector<std::uint64_t> places_of_whole_pages(const std::vector<std::int64_t>& pages,
                                                 const ColourTask& task, std::uint64_t& random,
                                                 std::int64_t shift, std::int64_t wrap) {
  constexpr std::size_t at_a_time = 16; // few enough that the smallest TLB translates them
  std::vector<std::uint64_t> all;
  for (std::size_t from = 0; from < pages.size(); from += at_a_time) {
    std::vector<std::uint64_t> some;
    for (std::size_t i = from; i < std::min(from + at_a_time, pages.size()); ++i)
      for (std::int64_t line = 0; line < task.lines; ++line)
        some.push_back(static_cast<std::uint64_t>(pages[i] * task.page + line * task.apart +
                                                  static_cast<std::int64_t>(i) % wrap * shift));
    shuffle_places(some, random);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::int64_t shift_of(const ColourTask& task) {
  return task.apart == task.line ? task.lines * task.line : task.line;
}

void measure_colour_readings(Sampler& sampler, PageColours& colours, const ColourTask& task,
                             const std::vector<std::int64_t>& spare) {
  ColourMeasurement(sampler, colours, task, spare).run();
}

ColourSets decide_colour_sets(const PageColours& colours) {
  ColourSets found;
  std::map<std::int64_t, Readings> counts;
  std::map<std::int64_t, std::vector<ColourReading>> shifts;
  Readings all;
  for (const ColourReading& r : colours.readings) {
    if (r.colour < 0 || r.colour >= std::ssize(colours.members)) continue;
    if (r.shift != 0) {
      shifts[r.colour].push_back(r);
    } else {
      all.push_back({1, r.lines, r.share});
      counts[r.colour].push_back(all.back());
    }
  }
  if (counts.size() < least_colours) {
    found.ways_unknown = found.line_unknown =
        fmt::format("page colours found: {}, needed: {}{}{}", colours.members.size(), least_colours,
                    colours.incomplete.empty() ? "" : ": ", colours.incomplete);
    return found;
  }
  for (const auto& [colour, readings] : counts)
    found.trials.push_back({colours.members[static_cast<std::size_t>(colour)].front(), ways_of(readings),
                            shifts.contains(colour) ? line_of(shifts.at(colour)) : std::nullopt});
  const auto ways = majority(found.trials, &ColourTrial::ways),
             line = majority(found.trials, &ColourTrial::line);
  const auto together = decide_ways(all);
  if (!ways || together->ways != ways->first) {
    found.ways_unknown =
        "the page colours do not agree on the lines that a set holds: noise, or a hashed index";
    found.line_unknown = "it needs the ways, which are unknown";
    return found;
  }
  found.ways = ways->first;
  found.with_ways = ways->second;
  found.probability = together->probability;
  if (line) {
    found.line = line->first;
    found.with_line = line->second;
  } else {
    found.line_unknown = colours.whole && shifts.empty()
                             ? "a hashed index hides which lines of two pages share a set"
                             : "lines of one page colour leave their set at no clear shift";
  }
  return found;
}

} // namespace recount::caches
