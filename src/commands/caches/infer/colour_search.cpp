// The search for page colours by time, and readings of the colours found.
#include "base/random.hpp"
#include "base/statistics/statistics.hpp"
#include "commands/caches/infer/geometry.hpp"

#include <fmt/format.h>
#include <range/v3/numeric/accumulate.hpp>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/concat.hpp>
#include <range/v3/view/drop.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/map.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace recount::caches {

namespace {

using Pages = std::vector<std::int64_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();

Pages slice(const Pages& pages, std::size_t from, std::size_t end) {
  return pages | ranges::views::take(end) | ranges::views::drop(from) | ranges::to<Pages>;
}
Pages joined(const Pages& a, const Pages& b) {
  return ranges::views::concat(a, b) | ranges::to<Pages>;
}
Pages without(const Pages& pages, std::size_t from, std::size_t end) {
  return joined(slice(pages, 0, from), slice(pages, end, pages.size()));
}
void remove(Pages& pages, const Pages& removed) {
  std::erase_if(pages, [&](std::int64_t page) { return std::ranges::find(removed, page) != removed.end(); });
}
Pages first_pages(std::int64_t count) {
  return ranges::views::iota(std::int64_t{0}, count) | ranges::to<Pages>;
}

/// The first `count` pages, spread evenly over the sets of the level above. A line that is alone in such a
/// set would hit there until another page is added: that would look like an overflow of the level below.
Pages spread_over_page_sets(const Pages& pages, std::size_t count, const ColourTask& task) {
  std::vector<Pages> by_set(static_cast<std::size_t>(task.page_sets_above));
  for (const std::int64_t page : pages)
    by_set[static_cast<std::size_t>(page) % by_set.size()].push_back(page);
  Pages chosen;
  for (std::size_t at = 0; at < pages.size() && chosen.size() < count; ++at)
    for (const Pages& of_set : by_set)
      if (at < of_set.size() && chosen.size() < count) chosen.push_back(of_set[at]);
  return chosen;
}

/// Moves the lines of page i by (i % wrap) * bytes. Pages are counted separately in each of `page_sets` sets
/// of the level above: counted together, some sets could get so few lines that they hit there.
struct Shift {
  std::int64_t bytes = 0, wrap = 2, page_sets = 1;
};

/// The visited lines of the pages, a few pages at a time, in random order.
std::vector<std::uint64_t> visited_places(const Pages& pages, const ColourTask& task, std::mt19937_64& random,
                                          const Shift& shift = {}) {
  constexpr std::size_t at_a_time = 16; // few enough that the smallest TLB translates them
  std::vector<std::uint64_t> all;
  std::vector<std::int64_t> before(static_cast<std::size_t>(shift.page_sets));
  for (std::size_t from = 0; from < pages.size(); from += at_a_time) {
    const std::size_t begin = all.size();
    for (const std::int64_t page : slice(pages, from, from + at_a_time)) {
      const std::int64_t i = before[static_cast<std::size_t>(page % shift.page_sets)]++;
      for (std::int64_t line = 0; line < task.lines; ++line)
        all.push_back(static_cast<std::uint64_t>(page * task.page + line * task.distance +
                                                 i % shift.wrap * shift.bytes));
    }
    base::shuffle(std::span(all).subspan(begin), random);
  }
  return all;
}

/// Moves the visited lines of a page to sets that none of them was in.
Shift shift_to_other_sets(const ColourTask& task, std::int64_t wrap) {
  return {task.distance == task.line ? task.lines * task.line : task.line, wrap, task.page_sets_above};
}

/// Times where every line fits, by number of pages: more pages never take less. An error of the clock rate
/// may make the lowest time too low, so the second lowest counts.
class FittingTimes {
public:
  struct Lowest {
    double first = infinity, second = infinity;
    int controls = 0;
  };
  Lowest& at(std::size_t pages) { return lowest_[pages]; }
  void add(std::size_t pages, double ns) {
    auto& [first, second, controls] = lowest_[pages];
    second = std::min(second, std::max(first, ns));
    first = std::min(first, ns);
  }
  [[nodiscard]] double time(std::size_t pages) const {
    double ns = infinity;
    for (auto at = lowest_.lower_bound(pages); at != lowest_.end(); ++at)
      ns = std::min(ns, at->second.second);
    return ns;
  }

private:
  std::map<std::size_t, Lowest> lowest_;
};

constexpr std::int64_t fewest_lines = 4; ///< of a page: the time is an average over as many sets
constexpr std::size_t max_colours_tried = 8;
constexpr std::size_t max_lines_tried = 34;
constexpr std::int64_t min_reference = 3; ///< lines that show the time of a hit; fewer hit above
constexpr std::size_t max_of_another = 4; ///< lines of one other colour: no second level has fewer ways
constexpr int rounds_of_readings = 4, min_rounds = 2; ///< the latter even when time is over: they are brief
constexpr double min_penalty = 0.1;                   ///< of what the working sets show
constexpr std::int64_t farthest_shift = 512, min_range = 256; ///< bytes

/// Measures the miss rates of found colours: of 1, 2 ... lines of one colour, visited together with enough
/// lines of other colours that all miss in the level above; then of twice as many lines as a set holds, every
/// second one shifted. The reference is as many lines of other colours, which fit.
class ColourReadings {
public:
  /// `spare`: pages of none of these colours, for when the other colours have too few lines.
  ColourReadings(Sampler& sampler, const PageColours& colours, const ColourTask& task, const Pages& spare)
      : sampler_(sampler), colours_(colours), task_(task), spare_(spare), random_(task.seed) {}

  std::vector<ColourReading> take() {
    const std::size_t tried = std::min(colours_.members.size(), max_colours_tried);
    if (tried < min_colours) return {};
    // With few colours, more lines of each; half as many as overflow a set still fit.
    of_another_ = std::max(max_of_another, std::ranges::min(colours_.smallest, {}, &Pages::size).size() / 2);
    const auto above = static_cast<std::size_t>(task_.ways_above);
    const std::size_t others =
        std::min(2 * above + 2, of_another_ * (colours_.members.size() - 1) + spare_.size());
    if (2 * others < 3 * above) return {}; // L1 would hold the lines
    std::vector<Trial> trials;
    for (std::size_t colour = 0; colour < tried; ++colour)
      for (std::size_t n = 1; n <= std::min(members(colour).size(), max_lines_tried); ++n)
        trials.push_back({{static_cast<std::int64_t>(colour), static_cast<std::int64_t>(n), 0, 0}, others});
    measure(trials);
    const auto ways = decide_colour_sets(colours_).ways;
    // Lines that are shifted must not fall into the place of the next one.
    const std::int64_t farthest = std::min(farthest_shift, task_.distance / 2);
    if (!ways || farthest < min_range) return std::move(colours_.readings);
    trials.clear();
    for (std::size_t colour = 0; colour < tried; ++colour) {
      const auto lines = std::min(2 * *ways, std::ssize(members(colour)) / 2 * 2);
      if (lines > *ways + 1)
        for (std::int64_t d = 8; d <= farthest; d *= 2)
          trials.push_back({{static_cast<std::int64_t>(colour), lines, d, 0}, 4 * above});
    }
    measure(trials);
    return std::move(colours_.readings);
  }

private:
  struct Trial {
    ColourReading reading;
    std::size_t others = 0; ///< lines of other colours
    double together = infinity, fitting = infinity;
    std::size_t pages = 0;
    /// Time lost in a pass, in visits times ns.
    [[nodiscard]] double lost(double step) const {
      return (together - fitting - step) * static_cast<double>(pages);
    }
  };

  [[nodiscard]] const Pages& members(std::size_t colour) const { return colours_.members[colour]; }

  /// Pages of all colours but this one, round robin, so few of each that they fit.
  [[nodiscard]] Pages others_of(std::int64_t colour, std::size_t count) const {
    Pages others;
    for (std::size_t at = 0; at < of_another_; ++at)
      for (std::size_t other = 0; other < colours_.members.size(); ++other)
        if (static_cast<std::int64_t>(other) != colour && at < members(other).size())
          others.push_back(members(other)[at]);
    if (others.size() < count) others = joined(others, spare_);
    return spread_over_page_sets(others, count, task_);
  }

  void time(Trial& trial) {
    const auto [colour, lines, shift, share] = trial.reading;
    const auto& own = members(static_cast<std::size_t>(colour));
    const Pages pages =
        joined(slice(own, 0, static_cast<std::size_t>(lines)), others_of(colour, trial.others));
    const auto ns = [&](const Pages& visited, std::int64_t bytes) {
      return sampler_.quick_time(visited_places(visited, task_, random_, {bytes, 2}));
    };
    trial.pages = pages.size();
    trial.together = std::min(trial.together, ns(pages, shift));
    trial.fitting = std::min(trial.fitting, ns(others_of(colour, pages.size()), 0));
  }

  void measure(std::vector<Trial>& trials) {
    for (int round = 0; round < rounds_of_readings; ++round)
      for (Trial& trial : trials) {
        if (round >= min_rounds && sampler_.out_of_time()) break;
        time(trial);
      }
    if (penalty_ == 0) calibrate(trials);
    for (Trial& trial : trials) {
      trial.reading.share = trial.lost(step_) / penalty_ / static_cast<double>(trial.reading.lines);
      colours_.readings.push_back(trial.reading);
    }
  }

  /// Three or four lines of a colour fit: their time is that of a hit. All lines of a colour usually
  /// overflow: their additional time is the present miss penalty, unless it is so small that nothing seems to
  /// overflow.
  void calibrate(const std::vector<Trial>& trials) {
    std::vector<double> fitting;
    for (const Trial& trial : trials)
      if (trial.reading.lines >= min_reference && trial.reading.lines <= surely_fit)
        fitting.push_back(trial.together - trial.fitting);
    if (fitting.empty()) throw Unknown{"no page colour has pages enough to tell the time of a hit"};
    step_ = statistics::median(fitting);
    std::map<std::int64_t, double> most; // by colour
    for (const Trial& trial : trials)    // lines ascend within a colour
      most[trial.reading.colour] = trial.lost(step_) / static_cast<double>(trial.reading.lines);
    penalty_ = std::max(statistics::median(most | ranges::views::values | ranges::to<std::vector>),
                        min_penalty * task_.penalty);
  }

  Sampler& sampler_;
  PageColours colours_;
  const ColourTask& task_;
  const Pages& spare_;
  std::mt19937_64 random_;
  std::size_t of_another_ = max_of_another; ///< lines of one other colour that fit
  double step_ = 0, penalty_ = 0; ///< ns: what a hit costs beyond one of the other lines, and a miss
};

/// One search. Its measurements throw Unknown when its time is over.
class ColourSearch {
public:
  ColourSearch(Sampler& sampler, const ColourTask& task)
      : sampler_(sampler), task_(task), random_(task.seed) {}

  /// What was found until time, noise or the pages ended it. Throws Unknown when that is nothing.
  PageColours run() {
    Pages rest = first_pages(task_.pages);
    map_pages();
    shuffle(rest);
    sample_ = slice(rest, rest.size() - static_cast<std::size_t>(task_.sample), rest.size());
    rest.resize(rest.size() - sample_.size());
    whole_sample_ = sample_;
    std::string incomplete;
    try {
      choose_background(rest);
      find_enough_colours(rest);
      if (dropped_ > max_dropped) incomplete = fmt::format("noise mixed the pages of {} of them", dropped_);
    } catch (const Unknown& unknown) {
      incomplete = unknown.reason.text();
      // Few colours that noise ended the search for may be noise themselves.
      if (readings_.empty() && !sampler_.out_of_time()) throw;
      if (readings_.empty()) take_readings();
    }
    if (3 * dropped_ > static_cast<int>(found_.size())) throw Unknown{"noise mixed pages of several colours"};
    if (found_.empty())
      throw Unknown{incomplete.empty() ? "no pages were found that share a set" : incomplete};
    PageColours colours = page_colours();
    colours.pages = task_.pages - std::ssize(background_);
    colours.left_over = std::ssize(rest) + std::ssize(sample_);
    colours.readings = readings_;
    colours.incomplete = incomplete;
    colours.sample = task_.sample;
    colours.in_sample = in_sample();
    return colours;
  }

private:
  static constexpr double half_of_overflow = 0.45; ///< of the misses of an overflowing set
  static constexpr double first_overflow = 1.3;    ///< misses per pass, until a colour is known
  static constexpr double min_overflow = 0.8, max_overflow = 4;
  static constexpr std::size_t first_prefix = 24, usual_colour = 10; ///< pages, where none is known yet
  static constexpr std::size_t colours_to_compare = 3;
  static constexpr std::size_t colours_to_read = 6; ///< for each set of the level above that pages fall into
  static constexpr std::size_t fewest_colours = 8, more_colours = 4;
  static constexpr double sure_of_number = 0.9995; ///< probability at which no more colours are searched for
  static constexpr double unlikely = 4; ///< roots of the usual number of pages that a colour is off: noise
  static constexpr int failures_allowed = 12; ///< reductions that noise may spoil, one after the other
  static constexpr int failed_passes = 4;
  static constexpr int max_dropped = 4; ///< colours whose pages are searched again
  static constexpr int background_choices = 6;
  static constexpr double min_seen = 0.15;         ///< of the penalty: less is no miss
  static constexpr double min_of_penalty = 0.3;    ///< of what the working sets show
  static constexpr int repeats = 3, attempts = 3;  ///< of the measurement of one set of pages
  static constexpr std::size_t pages_left_out = 4; ///< one at a time, to see whether each is needed
  static constexpr double max_rise = 1.1; ///< of the time of many pages, where their lines cannot be spread
  static constexpr std::size_t max_candidates = 12; ///< pages tried together

  /// ways + 1 pages that overflow a set, and all pages of their colour.
  struct Colour {
    Pages smallest, members;
    std::int64_t in_sample = 0; ///< members that are of the sample
  };

  void shuffle(Pages& pages) { base::shuffle(std::span(pages), random_); }
  std::int64_t random_page() {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(task_.pages));
  }

  /// Maps all pages, so that every measurement uses the same ones.
  void map_pages() {
    const auto last = static_cast<std::uint64_t>((task_.pages - 1) * task_.page);
    static_cast<void>(sampler_.quick_time(std::span(&last, 1), true));
  }

  /// A few colours suffice for the ways, and their share of the sample for the number of colours: their
  /// readings are taken first, while there is time.
  void find_enough_colours(Pages& rest) {
    std::size_t wanted =
        std::max(fewest_colours, colours_to_read * static_cast<std::size_t>(task_.page_sets_above));
    for (bool all = false; !all; wanted = found_.size() + more_colours) {
      all = find_colours(rest, wanted);
      const int dropped = dropped_;
      merge_duplicates(rest);
      drop_unusual_sizes(rest);
      checked_ = found_.size();
      if (dropped_ > dropped && dropped_ <= max_dropped) all = false; // their pages are searched again
      if (readings_.empty()) take_readings();
      if (number_of_colours(std::ssize(found_), task_.sample, in_sample(), index_is_mixed()).probability >=
          sure_of_number)
        return;
    }
    std::erase_if(rest, [&](std::int64_t page) {
      return std::ranges::any_of(found_, [&](const Colour& c) { return shares_sets(page, c.smallest); });
    });
  }

  [[nodiscard]] std::int64_t in_sample() const {
    return ranges::accumulate(found_, std::int64_t{0}, {}, &Colour::in_sample);
  }
  /// If the fewest lines of a page overflow the level as all lines do, no other bits are mixed with the
  /// offset.
  [[nodiscard]] bool index_is_mixed() const { return task_.lines > fewest_lines; }

  [[nodiscard]] PageColours page_colours() const {
    PageColours colours;
    colours.smallest = found_ | ranges::views::transform(&Colour::smallest) | ranges::to<std::vector>;
    colours.members = found_ | ranges::views::transform(&Colour::members) | ranges::to<std::vector>;
    colours.mixed = index_is_mixed();
    return colours;
  }

  void take_readings() { readings_ = ColourReadings(sampler_, page_colours(), task_, sample_).take(); }

  /// Whether no pages are left that overflow a set.
  bool find_colours(Pages& rest, std::size_t most) {
    for (int failures = 0; found_.size() < most;) {
      if (!overflows(rest)) return true;
      const auto smallest = reduce(shortest_prefix(rest));
      if (smallest && usual_size(*smallest)) {
        add_colour(*smallest, rest);
        failures = 0;
        continue;
      }
      if (++failures > failures_allowed) throw Unknown{"too much noise to tell which pages share a set"};
      shuffle(rest);
    }
    return false;
  }

  [[nodiscard]] double median_size(Pages Colour::*pages) const {
    return statistics::median(found_ | ranges::views::transform([&](const Colour& colour) {
                                return static_cast<double>((colour.*pages).size());
                              }) |
                              ranges::to<std::vector>);
  }

  /// All sets have as many ways: several times as many pages as of other colours overflow something else.
  [[nodiscard]] bool usual_size(const Pages& smallest) const {
    return found_.size() < colours_to_compare ||
           static_cast<double>(smallest.size()) < 2 * median_size(&Colour::smallest);
  }

  Pages shortest_prefix(const Pages& pages) {
    std::size_t fits = 1, over = pages.size();
    // The first set overflows long before most do: doubling finds it with fewer visits than halving.
    for (std::size_t size = first_prefix; size < pages.size(); size *= 2) {
      if (overflows(slice(pages, 0, size))) {
        over = size;
        break;
      }
      fits = size;
    }
    while (over - fits > 1) {
      const std::size_t middle = (fits + over) / 2;
      (overflows(slice(pages, 0, middle)) ? over : fits) = middle;
    }
    if (fits > fitting_pages_.size() && misses_per_pass(slice(pages, 0, fits)) < overflow_)
      fitting_pages_ = slice(pages, 0, fits);
    return slice(pages, 0, over);
  }

  /// Removes `chunk` pages at a time while the rest overflows.
  Pages reduced_by(Pages pages, std::size_t chunk) {
    for (std::size_t i = 0; i < pages.size();) {
      if (auto fewer = without(pages, i, i + chunk); overflows(fewer))
        pages = std::move(fewer);
      else
        i += chunk;
    }
    return pages;
  }

  /// First many pages at a time, then one by one, until none can be removed. Where noise made it remove a
  /// page too many, the rest no longer overflows: it goes back to the pages before.
  std::optional<Pages> reduce(Pages pages) {
    int failures = 0;
    const std::size_t colour = found_.empty() ? usual_colour : found_.front().smallest.size();
    for (std::size_t chunk = std::max<std::size_t>(1, pages.size() / colour / 2);;) {
      Pages fewer = reduced_by(pages, chunk);
      if (!overflows(fewer)) {
        if (++failures > failed_passes) return {};
        continue;
      }
      const bool minimal = chunk == 1 && fewer.size() == pages.size();
      pages = std::move(fewer);
      if (minimal) return needs_each(pages) ? std::optional(pages) : std::nullopt;
      chunk = std::max<std::size_t>(1, chunk / 2);
    }
  }

  /// Whether pages that overflow fit when any one of some is replaced by another page: where their number
  /// matters alone, a TLB overflows.
  bool needs_each(const Pages& pages) {
    for (std::size_t i = 0; i < std::min(pages.size(), pages_left_out); ++i) {
      double least = infinity;
      for (int repeat = 0; repeat < repeats; ++repeat) {
        Pages other = without(pages, i, i + 1);
        other.push_back(random_page());
        least = std::min(least, misses_per_pass(other));
      }
      if (least >= overflow_ / 2) return false;
    }
    return true;
  }

  /// Moves a colour from `rest` and the sample to found_: all pages that overflow a set with all but one of
  /// `smallest`.
  void add_colour(const Pages& smallest, Pages& rest) {
    // The threshold is about half of this overflow: noise does not reach it.
    const double misses =
        std::min({misses_per_pass(smallest), misses_per_pass(smallest), misses_per_pass(smallest)});
    overflow_ = std::clamp(half_of_overflow * misses, min_overflow, max_overflow);
    remove(rest, smallest);
    Colour colour{smallest, smallest, 0};
    rest = take_members(rest, colour);
    const std::int64_t before = std::ssize(colour.members);
    sample_ = take_members(sample_, colour);
    colour.in_sample = std::ssize(colour.members) - before;
    found_.push_back(std::move(colour));
  }

  /// Drops a colour that was noise: its pages are searched again.
  void drop(std::size_t i, Pages& rest) {
    ++dropped_;
    for (const std::int64_t page : found_[i].members)
      (std::ranges::find(whole_sample_, page) == whole_sample_.end() ? rest : sample_).push_back(page);
    found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  /// Merges a new colour with one found before, if noise had only hidden that its pages belong there; drops
  /// it if it no longer overflows.
  void merge_duplicates(Pages& rest) {
    for (std::size_t i = found_.size(); i-- > checked_;) {
      const Pages& smallest = found_[i].smallest;
      if (!overflows(smallest)) {
        drop(i, rest);
        continue;
      }
      const auto duplicate = std::ranges::find_if(
          found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(i), [&](const Colour& other) {
            return shares_sets(smallest.front(), other.smallest) &&
                   shares_sets(other.smallest.front(), smallest);
          });
      if (duplicate == found_.begin() + static_cast<std::ptrdiff_t>(i)) continue;
      duplicate->members = joined(duplicate->members, found_[i].members);
      duplicate->in_sample += found_[i].in_sample;
      found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Pages are placed at random, so colours have similar numbers of them; one with twice as many is two.
  void drop_unusual_sizes(Pages& rest) {
    if (found_.empty()) return;
    const double usual = median_size(&Colour::members), off = unlikely * std::sqrt(usual);
    for (std::size_t i = found_.size(); i-- > checked_;)
      if (std::abs(static_cast<double>(found_[i].members.size()) - usual) > off) drop(i, rest);
  }

  /// Adds the pages of the colour to its members; returns the others.
  Pages take_members(const Pages& pages, Colour& colour) {
    Pages others;
    for (std::size_t from = 0; from < pages.size(); from += max_candidates)
      classify(slice(pages, from, from + max_candidates), colour, others);
    return others;
  }

  /// Sorts candidates into members of the colour and others, many at a time: a full set overflows if any of
  /// them belongs to it. Pages known not to belong fill up, so that every measurement visits as many.
  void classify(const Pages& candidates, Colour& colour, Pages& others) {
    if (candidates.size() == 1 && shares_sets(candidates.front(), colour.smallest)) {
      colour.members.push_back(candidates.front());
      return;
    }
    const std::size_t fill = std::min(max_candidates - candidates.size(), others.size());
    const Pages tried = joined(joined(all_but_one(colour.smallest), candidates),
                               slice(others, others.size() - fill, others.size()));
    if (candidates.size() == 1 || !overflows(tried)) {
      others = joined(others, candidates);
      return;
    }
    classify(slice(candidates, 0, candidates.size() / 2), colour, others);
    classify(slice(candidates, candidates.size() / 2, candidates.size()), colour, others);
  }

  static Pages all_but_one(const Pages& group) { return slice(group, 0, group.size() - 1); }

  /// While another program has a line in the set, the group overflows with any page, even with one fewer:
  /// that is no evidence about this page.
  bool shares_sets(std::int64_t page, const Pages& group) {
    Pages others = all_but_one(group);
    return overflows(joined(others, {page})) && !overflows(others);
  }

  /// Chooses background pages, whose lines are visited with all others: all then miss in the level above, so
  /// that its ways have no influence. The fastest of several choices has no overflow; its time is that of a
  /// hit at present.
  void choose_background(Pages& rest) {
    const auto count = static_cast<std::size_t>(2 * task_.ways_above + 2);
    if (rest.size() < 2 * count) throw Unknown{"too few pages to tell their sets apart"};
    if (sampler_.out_of_time()) throw Unknown{gave_up};
    calibrate(rest);
    hit_ = infinity;
    Pages best;
    for (int choice = 0; choice < background_choices; ++choice) {
      shuffle(rest);
      const Pages chosen = spread_over_page_sets(rest, count, task_);
      const double ns = visit_time(chosen);
      if (ns >= hit_) continue;
      best = chosen;
      hit_ = ns;
    }
    background_ = best;
    remove(rest, best);
  }

  /// Most lines of all pages together overflow their sets: their time beyond a hit is the present miss
  /// penalty, which depends on other users of the next level.
  void calibrate(const Pages& all) {
    double together = infinity;
    for (int repeat = 0; repeat < background_choices; ++repeat)
      together = std::min(together, visit_time(all));
    const double here = together - task_.hit;
    if (here < min_seen * task_.penalty) throw Unknown{"no pages were found that share a set"};
    penalty_ = std::clamp(here, min_of_penalty * task_.penalty, task_.penalty);
  }

  /// ns per visit of the pages and the background, in random order.
  [[nodiscard]] double visit_time(const Pages& pages, bool quickly = false, const Shift& shift = {}) {
    Pages all = joined(pages, background_);
    shuffle(all);
    return sampler_.quick_time(visited_places(all, task_, random_, shift), quickly);
  }

  /// Misses in the level per pass, an average over the visited lines of a page.
  double misses_per_pass(const Pages& pages) {
    const double ns = visit_time(pages, true);
    return (ns - time_without_misses(pages, ns)) * static_cast<double>(pages.size() + background_.size()) /
           penalty_;
  }
  /// The same, as the difference from controls that visit as many pages: the same pages in the same order
  /// with the lines in other sets, if they still miss in L1; and random pages, some choice of which fits.
  double misses_beyond_controls(const Pages& pages) {
    Pages all = joined(pages, background_);
    shuffle(all);
    std::mt19937_64 same = random_;
    const double together = sampler_.quick_time(visited_places(all, task_, random_));
    double control = infinity;
    if (const std::int64_t wrap = max_wrap(all.size()); wrap > 1)
      control = sampler_.quick_time(visited_places(all, task_, same, shift_to_other_sets(task_, wrap)));
    for (int choice = 0; choice < background_choices; ++choice) {
      Pages others(pages.size());
      std::ranges::generate(others, [&] { return random_page(); });
      control = std::min(control, visit_time(others));
    }
    return (together - control) * static_cast<double>(all.size()) / penalty_;
  }
  /// The number of sets over which the lines of one set can be spread while all still miss in L1.
  [[nodiscard]] std::int64_t max_wrap(std::size_t pages) const {
    return std::min(task_.page / task_.line / task_.lines,
                    static_cast<std::int64_t>(pages / background_.size()));
  }

  /// The time of the pages if nothing missed; `ns` is their time. More pages take longer to translate: so do
  /// the same pages with their lines in several times as many sets of the level, all of which still miss in
  /// L1.
  double time_without_misses(const Pages& pages, double ns) {
    const std::size_t count = pages.size() + background_.size();
    fitting_.add(count, ns);
    const std::int64_t wrap = max_wrap(count);
    if (wrap < 2) return std::clamp(fitting_.time(count), hit_, max_rise * hit_);
    for (int& controls = fitting_.at(count).controls; controls < repeats; ++controls)
      fitting_.add(count, visit_time(pages, false, shift_to_other_sets(task_, wrap)));
    return std::max(fitting_.time(count), hit_);
  }

  /// All sets of a page overflow or none, and disturbances only add time: one measurement without overflow
  /// decides. Others may use the level for a while: then pages that are known to fit are slower, too.
  bool overflows(const Pages& pages) {
    if (sampler_.out_of_time()) throw Unknown{gave_up};
    if (pages.size() < 2) return false;
    double least = infinity, known = 0;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      for (int repeat = 0; repeat < repeats; ++repeat) {
        least = std::min(repeat == 0 ? infinity : least, misses_per_pass(pages));
        if (least < overflow_) return false;
      }
      if (fitting_pages_.size() < pages.size()) return misses_beyond_controls(pages) >= overflow_;
      const Pages as_many = slice(fitting_pages_, 0, pages.size());
      known = std::max(0.0, std::min(misses_per_pass(as_many), misses_per_pass(as_many)));
      if (known < overflow_ / 2)
        return misses_per_pass(pages) >= overflow_; // it was no disturbance that has ended
    }
    return least - known >= overflow_;
  }

  Sampler& sampler_;
  const ColourTask& task_;
  std::mt19937_64 random_;
  FittingTimes fitting_;
  Pages fitting_pages_; ///< the most pages seen that do not overflow
  double overflow_ = first_overflow;
  Pages background_;             ///< visited with all others
  double hit_ = 0, penalty_ = 0; ///< ns
  Pages sample_, whole_sample_;  ///< pages of the sample without a known colour; all
  std::vector<Colour> found_;
  std::vector<ColourReading> readings_;
  std::size_t checked_ = 0; ///< colours that are known to differ, or that have readings
  int dropped_ = 0;         ///< colours that turned out to be none
};

constexpr std::uint64_t max_searches = 3;
constexpr int line_repeats = 5;
constexpr double some_sets = 0.35; ///< of the penalty: the rise where a part of the sets overflows
constexpr double same_rise = 0.6;  ///< of the rise with all lines of these pages

/// The task with the fewest lines of a page with which pages share all of their sets or none: lines of which
/// only those bits of the offset differ that the index mixes with others. All lines of the page, if no fewer
/// overflow the level at the same number of pages.
ColourTask with_fewest_lines(Sampler& sampler, ColourTask task) {
  const std::int64_t few = 2 * task.ways_above + 2, all_lines = task.page / task.line;
  std::mt19937_64 random(task.seed);
  const auto time_of_pages = [&](std::int64_t count, const Shift& shift = {}) {
    double least = infinity;
    for (int repeat = 0; repeat < line_repeats; ++repeat)
      least = std::min(least, sampler.quick_time(visited_places(first_pages(count), task, random, shift)));
    return least;
  };
  // The fewer lines of a page are visited, the more translation adds to each; also to the same pages with
  // their lines in several times as many sets.
  const auto rise_at = [&](std::int64_t many) {
    const std::int64_t wrap = std::min(all_lines / task.lines, many / few);
    return time_of_pages(many) -
           (wrap < 2 ? time_of_pages(few) : time_of_pages(many, shift_to_other_sets(task, wrap)));
  };
  const auto choose = [&](std::int64_t lines, std::int64_t distance) {
    task.lines = lines;
    task.distance = distance;
  };
  choose(all_lines, task.line);
  // So many pages that a part of the sets overflows.
  std::int64_t many = std::max(2 * few, task.capacity / 2);
  double of_all = rise_at(many);
  while (of_all < some_sets * task.penalty && many < task.pages / 2 && !sampler.out_of_time()) {
    many += std::max<std::int64_t>(1, task.capacity / 8);
    of_all = rise_at(many);
  }
  for (std::int64_t lines = fewest_lines; lines < all_lines && !sampler.out_of_time(); lines *= 2)
    for (const std::int64_t distance : {task.page / lines, task.line}) {
      choose(lines, distance);
      if (rise_at(many) > same_rise * of_all) return task;
    }
  choose(all_lines, task.line);
  return task;
}

} // namespace

PageColours find_colours(Sampler& sampler, const ColourTask& task) {
  PageColours none;
  none.pages = task.pages;
  none.unknown = "page colours were not searched for";
  const std::uint64_t place = 0;
  if (sampler.quick_time(std::span(&place, 1)) < 0) return none;
  ColourTask search = with_fewest_lines(sampler, task);
  for (std::uint64_t i = 0; i < max_searches; ++i, ++search.seed) {
    try {
      return ColourSearch(sampler, search).run();
    } catch (const Unknown& unknown) { // a burst of noise may be over
      none.unknown = unknown.reason.text();
      if (sampler.out_of_time()) break;
    }
  }
  return none;
}

} // namespace recount::caches
