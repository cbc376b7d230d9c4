#include "caches/infer/colour_sets.hpp"

#include "base/random.hpp"
#include "caches/infer/colours.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <vector>

// Ways, line and number of page colours from readings of pages.
namespace recount::caches {

namespace {

constexpr std::int64_t most_colours = 1024;
constexpr double outside = 0.005;                         ///< probability on either side of the interval
constexpr double most_seen = 0.998;                       ///< of the pages, even if all colours are known
constexpr double impossible = 1e-300, never_built = 1e-7; ///< priors

/// A share of pages that noise misplaces, and how probable it is.
struct Misplaced {
  double share, probability;
};
/// Of the known colours: not recognised.
constexpr std::array<Misplaced, 4> hidden_shares{{{0, 0.4}, {0.02, 0.3}, {0.05, 0.2}, {0.1, 0.1}}};
/// Of other colours: taken for one of the known. Beside other programs, 28 of 32 colours seemed to have all
/// pages.
constexpr std::array<Misplaced, 5> strays{
    {{0.002, 0.957}, {0.03, 0.04}, {0.1, 0.001}, {0.3, 0.001}, {0.8, 0.001}}};

double prior(std::int64_t colours, bool of_address_bits) {
  std::int64_t odd = colours;
  while (odd % 2 == 0)
    odd /= 2;
  if (of_address_bits) return odd == 1 ? 1 : impossible;
  return odd == 1 ? 1 : odd == 3 || odd == 5 ? 0.1 : never_built;
}

} // namespace

double ColourNumber::tolerance() const {
  const auto best = static_cast<double>(colours);
  constexpr double rounding = 1e-9;
  return std::max(static_cast<double>(most) / best - 1, 1 - static_cast<double>(least) / best) + rounding;
}

ColourNumber number_of_colours(std::int64_t groups, std::int64_t sample, std::int64_t in_sample,
                               bool of_address_bits) {
  if (groups < 1 || sample < 1 || in_sample < 1 || in_sample > sample) return {};
  const auto hits = static_cast<double>(in_sample), misses = static_cast<double>(sample - in_sample);
  std::vector<double> logs;
  double highest = -INFINITY;
  for (std::int64_t colours = groups; colours <= std::max(groups, most_colours); ++colours)
    for (const Misplaced& hidden : hidden_shares)
      for (const Misplaced& stray : strays) {
        const double part = static_cast<double>(groups) / static_cast<double>(colours);
        const double p = std::clamp(part * (1 - hidden.share) + (1 - part) * stray.share, 1e-6, most_seen);
        logs.push_back(std::log(prior(colours, of_address_bits) * hidden.probability * stray.probability) +
                       hits * std::log(p) + misses * std::log1p(-p));
        highest = std::max(highest, logs.back());
      }
  std::vector<double> weights;
  double all = 0, most = 0;
  std::size_t best = 0;
  constexpr std::size_t of_each = hidden_shares.size() * strays.size();
  for (std::size_t i = 0; i < logs.size(); i += of_each) {
    double weight = 0;
    for (std::size_t j = 0; j < of_each; ++j)
      weight += std::exp(logs[i + j] - highest);
    if (weight > most) best = weights.size();
    most = std::max(most, weight);
    all += weight;
    weights.push_back(weight);
  }
  ColourNumber number{groups + static_cast<std::int64_t>(best), most / all, 0, 0};
  double below = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    below += weights[i] / all;
    const std::int64_t colours = groups + static_cast<std::int64_t>(i);
    if (number.least == 0 && below > outside) number.least = colours;
    if (number.most == 0 && below >= 1 - outside) number.most = colours;
  }
  return number;
}

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

/// In random order.
void shuffle_places(std::vector<std::uint64_t>& places, std::uint64_t& random) {
  for (std::size_t i = places.size(); i > 1; --i)
    std::swap(places[i - 1], places[base::random_below(random, i)]);
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
      trial.together =
          std::min(trial.together,
                   sampler_.quick_time(places_of_whole_pages(pages, task_, random_, trial.reading.shift)));
      // Whole pages have no lines that could be spread: as many other pages take what translation costs.
      const auto fitting = others_of(trial.reading.colour, pages.size());
      trial.apart =
          std::min(trial.apart, sampler_.quick_time(places_of_whole_pages(fitting, task_, random_)));
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
    trial.together = std::min(trial.together, sampler_.quick_time(together));
    trial.apart = std::min(trial.apart, sampler_.quick_time(apart));
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

namespace {

constexpr double least_number_probability =
    0.99; ///< of a number of colours that is stated without an interval
constexpr double least_of_estimate =
    0.34; ///< of an estimated number: the next usual ones are 3/4 and 4/3 of it
constexpr std::int64_t least_sample = 768; ///< pages

ColourTask task_of(const Sampler& sampler, const PagedTask& level) {
  ColourTask task;
  task.first_hit = level.first_hit;
  task.step = level.hit - level.first_hit;
  // Neighbours can push what leaves this level out of the next one, too; what is asked here is only
  // whether anything leaves.
  task.penalty = std::min(level.next_hit - level.hit, 6 * level.hit);
  task.line = level.line;
  task.page = sampler.abilities().page;
  task.capacity = level.around / task.page;
  task.sample = std::max(least_sample, 4 * task.capacity);
  task.pages = 3 * task.capacity + task.sample;
  task.offset = 13 * level.line;
  task.ways_above = level.ways_above;
  task.lines_above = level.capacity_above / level.line;
  task.page_sets_above = level.page_sets_above;
  task.seed = 1 + 10 * sampler.searches();
  return task;
}

/// Colours that were found have more pages than the others: these overflow first. Pages that are not seen to
/// overflow count for no colour.
constexpr double sampling_bias = 0.1;

/// Sets of real caches are a power of two times 1, 3 or 5.
bool usual_number(double colours) {
  auto odd = static_cast<std::int64_t>(colours);
  while (odd > 0 && odd % 2 == 0)
    odd /= 2;
  return odd <= 5;
}

/// Of the number of colours, if so many pages were found to be of one. Complete: no page is left over.
double tolerance_of_colours(bool complete, double colours, double pages) {
  if (complete && usual_number(colours)) return 0;
  return sampling_bias + (complete ? 1.5 / colours : 4 / std::sqrt(pages));
}

} // namespace

CountedColours count_colours(const PageColours& found, std::int64_t ways) {
  double members = 0;
  for (const auto& pages : found.members)
    members += static_cast<double>(pages.size());
  const auto groups = static_cast<double>(found.members.size()), pages = static_cast<double>(found.pages);
  // Pages without a colour that are as many as half of a colour has may be a colour that was not found.
  const bool all_pages = pages < members * (1 + 0.5 / groups);
  const bool complete = found.incomplete.empty() && 2 * found.left_over <= ways && all_pages;
  const bool usual = found.mixed ? std::has_single_bit(found.members.size()) : usual_number(groups);
  if (complete && (usual || found.sample == 0))
    return {groups, 1, tolerance_of_colours(true, groups, members), true, true, false};
  const ColourNumber number =
      number_of_colours(std::ssize(found.members), found.sample, found.in_sample, found.mixed);
  // Pages lie anywhere: the share of all pages that a colour has is a share of a sample.
  if (number.colours == 0)
    return {std::max(groups, pages * groups / members),
            0,
            tolerance_of_colours(false, groups, members),
            false,
            false,
            false};
  const bool stated = number.probability >= least_number_probability;
  return {static_cast<double>(number.colours),
          number.probability,
          stated ? 0 : std::max(number.tolerance(), least_of_estimate),
          false,
          stated,
          true};
}

PageColours colours_of_level(Sampler& sampler, const PagedTask& level) {
  if (auto recorded = sampler.colours()) {
    if (!recorded->unknown.empty()) throw Unknown{recorded->unknown};
    if (recorded->members.empty()) recorded->members = recorded->smallest; // a record of version 0.1.0
    return *recorded;
  }
  const PageColours found = find_colours(sampler, task_of(sampler, level));
  sampler.keep(found);
  if (!found.unknown.empty()) throw Unknown{found.unknown};
  return found;
}

namespace {

constexpr std::int64_t most_ways_decided = 64;
constexpr std::int64_t smallest_way = 512, largest_way = std::int64_t{128} << 10;
constexpr std::array<std::int64_t, 8> odd_factors{1, 3, 5, 7, 9, 11, 13, 15};
constexpr double odd_penalty = 4; ///< log of how much rarer a number of sets that is no power of two is
constexpr double least_noise = 0.004, most_noise = 0.1;
constexpr double disturbed_part = 0.05; ///< readings that say nothing
constexpr double widest_share = 4;      ///< shares beyond are cut
constexpr double least_loss = 0.12; ///< of the overfull lines; 16 ways at random keep nearly all of 17 lines
constexpr double most_loss = 1.3, beyond_most = 0.2; ///< and the probability of more than that
constexpr double tempered =
    0.5; ///< readings share disturbances: they are worth half as many independent ones
constexpr std::size_t steps_of_share = 16;

/// Log-likelihoods of one reading by the overfull share under a hypothesis, in steps of 1/16.
using Likelihoods = std::array<double, steps_of_share + 1>;

double density_of_fit(double share, double noise) {
  const double z = share / noise;
  return std::exp(-z * z / 2) / (noise * std::sqrt(2 * std::numbers::pi));
}

double density_of_loss(double share, double overfull, double noise) {
  const double low = least_loss * overfull, high = most_loss * overfull;
  if (share < low)
    return (1 - beyond_most) / (high - low) * std::exp(-(share - low) * (share - low) / (2 * noise * noise));
  return share <= high ? (1 - beyond_most) / (high - low) : beyond_most / (widest_share - high);
}

Likelihoods likelihoods_of(double reading, double noise) {
  const double share = std::clamp(reading, -0.2, widest_share);
  Likelihoods all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double overfull = static_cast<double>(i) / steps_of_share;
    const double density = i == 0 ? density_of_fit(share, noise) : density_of_loss(share, overfull, noise);
    all[i] = std::log((1 - disturbed_part) * density + disturbed_part / (widest_share + 0.2));
  }
  return all;
}

std::size_t step_of(double overfull) {
  if (overfull == 0) return 0;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(overfull * steps_of_share)));
}

std::vector<std::int64_t> ways_in_bytes(bool one_set) {
  if (one_set) return {1};
  std::vector<std::int64_t> all;
  for (const std::int64_t odd : odd_factors)
    for (std::int64_t bytes = odd * 64; bytes <= largest_way; bytes *= 2)
      if (bytes >= smallest_way) all.push_back(bytes);
  return all;
}

std::optional<ShapeDecision> most_probable(std::span<const StrideReading> readings, bool one_set) {
  if (readings.empty()) return {};
  std::vector<double> shares;
  for (const StrideReading& r : readings)
    shares.push_back(r.share);
  ShapeDecision best;
  best.noise = noise_of_fitting(shares);
  std::vector<Likelihoods> of_readings;
  for (const StrideReading& r : readings)
    of_readings.push_back(likelihoods_of(r.share, best.noise));
  std::vector<double> logs;
  double highest = 0;
  for (const std::int64_t way : ways_in_bytes(one_set))
    for (std::int64_t ways = 1; ways <= most_ways_decided; ++ways) {
      double log = (way & (way - 1)) == 0 ? 0 : -odd_penalty;
      for (std::size_t i = 0; i < readings.size(); ++i)
        log += tempered *
               of_readings[i][step_of(overfull_share(ways, way, readings[i].stride, readings[i].lines))];
      if (logs.empty() || log > highest) {
        highest = log;
        best.ways = ways;
        best.way_bytes = way;
      }
      logs.push_back(log);
    }
  double all = 0;
  for (const double log : logs)
    all += std::exp(log - highest);
  best.probability = 1 / all;
  return best;
}

} // namespace

double overfull_share(std::int64_t ways, std::int64_t way_bytes, std::int64_t stride, std::int64_t lines) {
  const std::int64_t sets = way_bytes / std::gcd(stride, way_bytes);
  const std::int64_t each = lines / sets, fuller = lines % sets; // sets that hold one line more
  std::int64_t overfull = 0;
  if (each + 1 > ways) overfull += fuller * (each + 1);
  if (each > ways) overfull += (sets - fuller) * each;
  return static_cast<double>(overfull) / static_cast<double>(lines);
}

double noise_of_fitting(std::span<const double> shares) {
  double noise = most_noise;
  for (int step = 0; step < 20; ++step) {
    double weight = 0, squares = 0;
    for (const double share : shares) {
      const double fits = density_of_fit(share, noise), of_fit = fits / (fits + 1 / widest_share);
      weight += of_fit;
      squares += of_fit * share * share;
    }
    if (weight < 1) return most_noise;
    noise = std::clamp(std::sqrt(squares / weight), least_noise, most_noise);
  }
  return noise;
}

std::optional<ShapeDecision> decide_shape(std::span<const StrideReading> readings) {
  return most_probable(readings, false);
}

std::optional<ShapeDecision> decide_ways(std::span<const StrideReading> readings) {
  return most_probable(readings, true);
}

} // namespace recount::caches
