// The search for page colours: pages whose lines overflow a set together, found by measurement.
#include "caches/infer/colours.hpp"

#include "base/random.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace recount::caches {

namespace {

using Pages = std::vector<std::int64_t>;

void shuffle_pages(Pages& pages, std::uint64_t& random) {
  for (std::size_t i = pages.size(); i > 1; --i)
    std::swap(pages[i - 1], pages[base::random_below(random, i)]);
}

Pages without(Pages pages, std::size_t from, std::size_t end) {
  pages.erase(pages.begin() + static_cast<std::ptrdiff_t>(from),
              pages.begin() + static_cast<std::ptrdiff_t>(end));
  return pages;
}

/// ns per visit where every line fits, by the number of pages visited: more pages never take less. One
/// reading may be too low by an error of the clock rate, so the second lowest counts.
class FittingTimes {
public:
  void add(std::size_t pages, double ns) {
    const std::size_t at = step_of(pages);
    if (at >= lowest_.size()) lowest_.resize(at + 1, {endless, endless});
    auto& [first, second] = lowest_[at];
    second = std::min(second, std::max(first, ns));
    first = std::min(first, ns);
  }
  [[nodiscard]] static std::size_t step_of(std::size_t pages) { return pages / pages_per_step; }
  /// At least `least`; no more than `most`, where every set of so many pages overflows and the times tell
  /// nothing.
  [[nodiscard]] double at(std::size_t pages, double least, double most) const {
    double ns = most;
    for (std::size_t i = step_of(pages); i < lowest_.size(); ++i)
      ns = std::min(ns, lowest_[i].second);
    return std::max(ns, least);
  }

private:
  static constexpr std::size_t pages_per_step = 1;
  static constexpr double endless = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> lowest_;
};

/// More lines than the level has room for, if they shared sets as their addresses say, all fit.
struct NoSharedSet : Unknown {};

/// One search. Its measurements throw Unknown when its time is over.
class ColourSearch {
public:
  ColourSearch(Sampler& sampler, const ColourTask& task)
      : sampler_(sampler),
        task_(task),
        random_(task.seed),
        overflow_(task.whole ? least_overflow_of_pages : least_overflow) {}

  /// What was found until time, noise or the pages ended it. Throws Unknown when that is nothing.
  PageColours run() {
    Pages rest(static_cast<std::size_t>(task_.pages));
    std::iota(rest.begin(), rest.end(), std::int64_t{0});
    map_all();
    shuffle_pages(rest, random_);
    sample_.assign(rest.end() - task_.sample, rest.end());
    rest.resize(rest.size() - sample_.size());
    whole_sample_ = sample_;
    std::ranges::sort(whole_sample_);
    std::string incomplete;
    try {
      set_aside(rest);
      find_enough_groups(rest);
      if (dropped_ > most_dropped) incomplete = fmt::format("noise mixed the pages of {} of them", dropped_);
    } catch (const NoSharedSet&) {
      throw;
    } catch (const Unknown& unknown) {
      incomplete = unknown.reason;
      // Few groups that noise ended the search for may be noise themselves.
      if (readings_.empty() && !sampler_.out_of_time()) throw;
      if (readings_.empty()) read_groups();
    }
    if (3 * dropped_ > static_cast<int>(found_.size())) throw Unknown{"noise mixed pages of several colours"};
    if (found_.empty())
      throw Unknown{incomplete.empty() ? "no pages were found that share a set" : incomplete};
    PageColours colours = found_colours();
    colours.pages = task_.pages - std::ssize(aside_);
    colours.left_over = std::ssize(rest) + std::ssize(sample_);
    colours.readings = readings_;
    colours.incomplete = incomplete;
    colours.sample = task_.sample;
    colours.in_sample = in_sample();
    return colours;
  }

private:
  static constexpr double typical_overflow = 0.35; ///< of what a set with one line too many was seen to lose
  static constexpr double half_of_overflow = 0.45,
                          most_overflow = 4; ///< of whole pages, which are an average over sets
  static constexpr std::size_t first_prefix = 24;
  static constexpr std::size_t usual_group = 10; ///< pages, where none is known yet
  static constexpr std::size_t groups_to_compare = 3;
  static constexpr std::size_t groups_to_read =
      6; ///< for each set of the level above that their lines fall into
  static constexpr std::size_t least_groups = 8, more_groups = 4;
  static constexpr double sure_of_number = 0.9995; ///< probability at which no more colours are searched for
  static constexpr double unlikely = 4; ///< roots of the usual number of pages that a colour is off: noise
  static constexpr int failures_allowed = 12; ///< reductions that noise may spoil, one after the other
  static constexpr int passes_again = 4;
  static constexpr int most_dropped = 4; ///< groups whose pages are searched again
  static constexpr std::size_t fewest = 2;
  static constexpr double least_overflow = 1.2; ///< visits of a pass that leave; less is noise
  /// The same where several lines of each page are visited: of random replacement, until a group is known.
  static constexpr double least_overflow_of_pages = 1.3, least_learned = 0.8;
  static constexpr int choices_aside = 6;
  static constexpr double least_seen = 0.15;      ///< of the penalty: less is no miss
  static constexpr double least_of_penalty = 0.3; ///< of what the working sets show
  static constexpr int ahead_to_overflow =
      3;                                 ///< looks that see a set overflow, less those that do not: it does
  static constexpr int ahead_to_fit = 2; ///< the other way round
  static constexpr int most_looks = 15;
  static constexpr int looks_of_pages = 3, attempts_beside = 3;
  static constexpr std::size_t pages_left_out = 4;
  static constexpr double most_rise = 1.1; ///< of the time of many pages, where their lines cannot be spread
  static constexpr int looks_at_control = 3;
  static constexpr std::size_t most_together = 12; ///< pages tried together
  /// Of the step to the level, at least and at most, where the first level holds no line.
  static constexpr double step_seen = 0.7, step_at_most = 1.1;

  /// Before the first look, so that all looks have the same pages.
  void map_all() {
    const auto last = static_cast<std::uint64_t>((task_.pages - 1) * task_.page);
    static_cast<void>(sampler_.quick_time(std::span(&last, 1), true));
  }

  /// A few groups tell the ways, and their share of the sample how many there are: their readings come first,
  /// while there is time for them.
  void find_enough_groups(Pages& rest) {
    std::size_t wanted =
        std::max(least_groups, groups_to_read * static_cast<std::size_t>(task_.page_sets_above));
    for (bool all = false; !all; wanted = found_.size() + more_groups) {
      all = find_groups(rest, wanted);
      const int dropped = dropped_;
      join_twins(rest);
      drop_odd_sizes(rest);
      if (dropped_ > dropped && dropped_ <= most_dropped) all = false; // their pages are searched again
      if (readings_.empty()) read_groups();
      if (number_of_colours(std::ssize(found_), task_.sample, in_sample(), task_.mixed()).probability >=
          sure_of_number)
        return;
    }
    std::erase_if(rest, [&](std::int64_t page) { return belongs_to_any(page); });
  }

  [[nodiscard]] std::int64_t in_sample() const {
    return std::accumulate(from_sample_.begin(), from_sample_.end(), std::int64_t{0});
  }

  [[nodiscard]] PageColours found_colours() const {
    PageColours colours;
    colours.offset = task_.offset;
    colours.pages = task_.pages;
    colours.smallest = found_;
    colours.members = members_;
    colours.whole = task_.whole;
    colours.mixed = task_.mixed();
    return colours;
  }

  void read_groups() {
    PageColours some = found_colours();
    measure_colour_readings(sampler_, some, task_, sample_);
    readings_ = some.readings;
    firm_ = found_.size();
  }

  /// Whether no pages are left that overflow a set.
  bool find_groups(Pages& rest, std::size_t most) {
    for (int failures = 0; found_.size() < most;) {
      if (!overflows(rest)) return true;
      const auto smallest = reduce(shortest_prefix(rest));
      if (smallest && usual_size(*smallest)) {
        take(*smallest, rest);
        failures = 0;
        continue;
      }
      if (++failures > failures_allowed) throw Unknown{"too much noise to tell which pages share a set"};
      shuffle_pages(rest, random_);
    }
    return false;
  }

  /// All sets have as many ways: several times as many pages as of other groups overflow something else.
  [[nodiscard]] bool usual_size(const Pages& smallest) const {
    if (found_.size() < groups_to_compare) return true;
    std::vector<double> sizes;
    for (const Pages& group : found_)
      sizes.push_back(static_cast<double>(group.size()));
    return static_cast<double>(smallest.size()) < 2 * statistics::median(sizes);
  }

  Pages shortest_prefix(const Pages& pages) {
    std::size_t fits = fewest - 1, over = pages.size();
    // The first set overflows long before most do: doubling finds it with fewer visits than halving.
    for (std::size_t size = first_prefix; size < pages.size(); size *= 2) {
      if (overflows({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(size)})) {
        over = size;
        break;
      }
      fits = size;
    }
    while (over - fits > 1) {
      const std::size_t middle = (fits + over) / 2;
      (overflows({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(middle)}) ? over : fits) =
          middle;
    }
    remember_fitting({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(fits)});
    return {pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(over)};
  }

  /// Takes pages out, so many at a time, while the rest overflows.
  Pages taken_out(Pages pages, std::size_t chunk) {
    for (std::size_t i = 0; i < pages.size();) {
      const std::size_t end = std::min(i + chunk, pages.size());
      if (auto fewer = without(pages, i, end); overflows(fewer))
        pages = std::move(fewer);
      else
        i = end;
    }
    return pages;
  }

  /// First many pages at a time, then one by one, until none can be taken out. Where noise made it take out a
  /// page too many, the rest no longer overflows: it goes back to the pages before.
  std::optional<Pages> reduce(Pages pages) {
    int failures = 0;
    const std::size_t group = found_.empty() ? usual_group : found_.front().size();
    for (std::size_t chunk = std::max<std::size_t>(1, pages.size() / group / 2);;) {
      Pages fewer = taken_out(pages, chunk);
      if (!overflows(fewer)) {
        if (++failures > passes_again) return {};
        continue;
      }
      const bool minimal = chunk == 1 && fewer.size() == pages.size();
      pages = std::move(fewer);
      if (minimal) return !task_.whole || needs_each(pages) ? std::optional(pages) : std::nullopt;
      chunk = std::max<std::size_t>(1, chunk / 2);
    }
  }

  /// Takes a colour out of the rest and out of the sample: all pages that in the place of one of `smallest`
  /// make it overflow, too.
  void take(const Pages& smallest, Pages& rest) {
    // Now it is known what an overflow costs: a good part of it is the threshold that noise does not reach.
    learn_overflow(smallest);
    std::erase_if(rest,
                  [&](std::int64_t page) { return std::ranges::find(smallest, page) != smallest.end(); });
    Pages members = smallest;
    rest = others_of(rest, smallest, members);
    const std::size_t before = members.size();
    sample_ = others_of(sample_, smallest, members);
    found_.push_back(smallest);
    from_sample_.push_back(std::ssize(members) - static_cast<std::ptrdiff_t>(before));
    members_.push_back(members);
  }

  void learn_overflow(const Pages& smallest) {
    const double lost = std::min({leaving(smallest), leaving(smallest), leaving(smallest)});
    overflow_ = task_.whole ? std::clamp(half_of_overflow * lost, least_learned, most_overflow)
                            : std::max(overflow_, typical_overflow * lost);
  }

  bool belongs_to_any(std::int64_t page) {
    return std::ranges::any_of(found_, [&](const Pages& group) { return belongs_after_all(page, group); });
  }

  /// A group that is none: its pages are of colours to be found.
  void drop(std::size_t i, Pages& rest) {
    ++dropped_;
    for (const std::int64_t page : members_[i])
      (std::ranges::binary_search(whole_sample_, page) ? sample_ : rest).push_back(page);
    forget(i);
  }

  void forget(std::size_t i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    found_.erase(found_.begin() + at);
    members_.erase(members_.begin() + at);
    from_sample_.erase(from_sample_.begin() + at);
    joined_ = std::min(joined_, found_.size());
  }

  /// Pages of a colour found before that noise had kept out of it are no new colour; a group that no longer
  /// overflows is none.
  void join_twins(Pages& rest) {
    for (std::size_t i = found_.size(); i-- > joined_;) {
      if (!overflows(found_[i], ahead_to_overflow)) {
        drop(i, rest);
        continue;
      }
      std::size_t twin = 0;
      while (twin < i && !one_colour(found_[i], found_[twin]))
        ++twin;
      if (twin == i) continue;
      members_[twin].insert(members_[twin].end(), members_[i].begin(), members_[i].end());
      from_sample_[twin] += from_sample_[i];
      forget(i);
    }
    joined_ = found_.size();
  }

  /// Pages lie anywhere, so colours have much the same number of them. One with as many as two was two.
  void drop_odd_sizes(Pages& rest) {
    if (members_.empty()) return;
    std::vector<double> sizes;
    for (const Pages& members : members_)
      sizes.push_back(static_cast<double>(members.size()));
    const double usual = statistics::median(sizes), off = unlikely * std::sqrt(usual);
    for (std::size_t i = sizes.size(); i-- > firm_;) {
      if (std::abs(sizes[i] - usual) > off) drop(i, rest);
    }
  }

  /// Adds the pages of the group's colour to the members, and gives the others.
  Pages others_of(const Pages& pages, const Pages& group, Pages& members) {
    Pages others;
    for (std::size_t from = 0; from < pages.size(); from += most_together) {
      const std::size_t end = std::min(from + most_together, pages.size());
      sort_out({pages.begin() + static_cast<std::ptrdiff_t>(from),
                pages.begin() + static_cast<std::ptrdiff_t>(end)},
               group, most_together, members, others);
    }
    return others;
  }

  /// Sorts candidates into members of the group's colour and others, many at a time: a full set of the group
  /// overflows if any candidate belongs to it. Pages known not to belong fill up, so that the first level
  /// holds none of the lines and every look visits as many.
  void sort_out(const Pages& candidates, const Pages& group, std::size_t chunk, Pages& members,
                Pages& others) {
    if (!any_belongs(candidates, group, chunk, others)) {
      others.insert(others.end(), candidates.begin(), candidates.end());
      return;
    }
    if (candidates.size() == 1) {
      (belongs_after_all(candidates.front(), group, ahead_to_fit) ? members : others)
          .push_back(candidates.front());
      return;
    }
    const auto middle = candidates.begin() + std::ssize(candidates) / 2;
    sort_out({candidates.begin(), middle}, group, chunk, members, others);
    sort_out({middle, candidates.end()}, group, chunk, members, others);
  }

  /// A quick look, and a thorough one if it sees an overflow.
  bool any_belongs(const Pages& candidates, const Pages& group, std::size_t chunk, const Pages& others) {
    if (sampler_.out_of_time()) throw Unknown{gave_up};
    Pages tried = without(group, group.size() - 1, group.size());
    tried.insert(tried.end(), candidates.begin(), candidates.end());
    for (std::size_t i = candidates.size(); i < chunk && i - candidates.size() < others.size(); ++i)
      tried.push_back(others[others.size() - 1 - (i - candidates.size())]);
    const auto visits = static_cast<double>(tried.size() + aside_.size());
    if (task_.whole) return overflows(tried);
    // Of as many pages: with more of them than a TLB has entries, every visit takes longer.
    const double plain = plain_of(tried);
    double& least = least_.try_emplace(tried.size(), std::numeric_limits<double>::infinity()).first->second;
    const auto over = [&](Look look) {
      const double ns = visit_time(tried, Lines::together, look);
      least = std::min(least, ns);
      const double fitting = std::clamp(least, plain + step_seen * step_, plain + step_at_most * step_);
      return (ns - fitting) * visits >= overflow_ / 2 * penalty_;
    };
    return over(Look::quick) && over(Look::thorough);
  }

  /// The same without a short measurement. While another program has a line in the set, the group overflows
  /// with any page, and without one of its own: that is no evidence on this page.
  bool belongs_after_all(std::int64_t page, Pages group, int ahead_that_fit = ahead_to_overflow) {
    group.back() = page;
    return overflows(group, ahead_that_fit) && !overflows(without(group, group.size() - 1, group.size()));
  }
  bool one_colour(const Pages& group, const Pages& other) {
    return belongs_after_all(group.front(), other) || belongs_after_all(other.front(), group);
  }

  /// Pages of any colour whose lines are visited with all others: the level above then holds none of them,
  /// and what is asked of this one does not depend on the ways of that one. Of several such choices, the one
  /// that takes least time has no overflow, and tells what a hit in the level costs here and now.
  void set_aside(Pages& rest) {
    const auto count = static_cast<std::ptrdiff_t>(2 * task_.ways_above + 2);
    if (std::ssize(rest) < 2 * count) throw Unknown{"too few pages to tell their sets apart"};
    if (sampler_.out_of_time()) throw Unknown{gave_up};
    calibrate(rest);
    Pages best;
    double plain = std::numeric_limits<double>::infinity(), least = plain;
    for (int choice = 0; choice < choices_aside; ++choice) {
      shuffle_pages(rest, random_);
      const Pages chosen = spread_over_page_sets(rest, static_cast<std::size_t>(count), task_);
      plain = std::min(plain, visit_time(chosen, Lines::spread, Look::thorough));
      const double together = visit_time(chosen, Lines::together, Look::thorough);
      if (together >= least) continue;
      best = chosen;
      least = together;
    }
    step_ = least - plain;
    aside_ = best;
    std::erase_if(rest, [&](std::int64_t page) { return std::ranges::find(best, page) != best.end(); });
  }

  /// Most lines of all pages together overflow their sets: what that costs beyond the same pages with their
  /// lines spread is the cost of a miss here and now, which other users of the next level change.
  void calibrate(const Pages& all) {
    const double hit = task_.whole ? task_.first_hit + task_.step : task_.step;
    double together = std::numeric_limits<double>::infinity(), spread = together;
    for (int look = 0; look < choices_aside; ++look) {
      together = std::min(together, visit_time(all, Lines::together, Look::thorough));
      spread = std::min(spread, visit_time(all, Lines::spread, Look::thorough));
    }
    const double here = together - spread - hit;
    if (here < least_seen * task_.penalty) throw NoSharedSet{{"no pages were found that share a set"}};
    penalty_ = std::clamp(here, least_of_penalty * task_.penalty, task_.penalty);
  }

  /// At one offset; at as many as possible; at so many that the first level still holds none of the lines.
  enum class Lines { together, spread, in_more_sets };
  enum class Look { quick, thorough };

  /// Of the pages and those set aside. Whole pages have no lines that could be spread: their time is 0, and
  /// that of a hit in the level is the whole step.
  [[nodiscard]] double visit_time(Pages pages, Lines lines, Look look) {
    if (task_.whole && lines == Lines::spread) return 0;
    pages.insert(pages.end(), aside_.begin(), aside_.end());
    shuffle_pages(pages, random_);
    if (task_.whole)
      return sampler_.quick_time(places_of_whole_pages(pages, task_, random_), look == Look::quick);
    const auto in_a_page = static_cast<std::uint64_t>(task_.page / task_.line);
    const std::uint64_t offsets = lines == Lines::spread         ? in_a_page
                                  : lines == Lines::in_more_sets ? offsets_of_control(pages.size(), 1)
                                                                 : 1;
    std::vector<std::uint64_t> places, next(static_cast<std::size_t>(task_.page_sets_above));
    for (const std::int64_t page : pages) { // each set of the first level gets as many lines at each offset
      const std::uint64_t at = next[static_cast<std::size_t>(page) % next.size()]++ % offsets;
      const std::uint64_t in_page = offsets > 1 ? at * static_cast<std::uint64_t>(task_.line) + 8
                                                : static_cast<std::uint64_t>(task_.offset);
      places.push_back(static_cast<std::uint64_t>(page * task_.page) + in_page);
    }
    return sampler_.quick_time(places, look == Look::quick);
  }

  /// The most offsets that the lines of these pages, `lines` of each, may have while the first level holds
  /// none.
  [[nodiscard]] std::uint64_t offsets_of_control(std::size_t pages, std::int64_t lines) const {
    const std::int64_t in_page = task_.page / task_.line / lines;
    // Twice as many of a single line: where the first level does not replace in order of use, it keeps some.
    const std::size_t at_one = aside_.size() * (lines == 1 ? 2 : 1);
    return static_cast<std::uint64_t>(std::min(in_page, static_cast<std::int64_t>(pages / at_one)));
  }

  /// Visits of a pass that leave the level. The same pages in the same order with their lines spread over the
  /// first level's sets take what the pages cost.
  double leaving(const Pages& pages) {
    const auto visits = static_cast<double>(pages.size() + aside_.size());
    if (task_.whole) {
      const double ns = visit_time(pages, Lines::together, Look::quick);
      return (ns - time_of_fitting(pages, ns)) * visits / penalty_;
    }
    const double together = visit_time(pages, Lines::together, Look::thorough);
    if (2 * visits <= static_cast<double>(task_.lines_above))
      plain_ = visit_time(pages, Lines::spread, Look::thorough);
    else if (offsets_of_control(pages.size() + aside_.size(), 1) > 1)
      plain_ = visit_time(pages, Lines::in_more_sets, Look::thorough) - step_;
    return (together - plain_ - step_) * visits / penalty_;
  }

  /// The time of so many pages when their lines are spread over the sets of the level above, which holds
  /// them.
  double plain_of(const Pages& pages) {
    const std::size_t visits = pages.size() + aside_.size();
    if (2 * static_cast<std::int64_t>(visits) > task_.lines_above) return plain_;
    auto& [looks, least] =
        plain_by_pages_.try_emplace(visits, 0, std::numeric_limits<double>::infinity()).first->second;
    for (; looks < looks_at_control; ++looks)
      least = std::min(least, visit_time(pages, Lines::spread, Look::thorough));
    return least;
  }

  /// What whole pages would take if nothing left, `ns` being what they take. Many pages take longer than few,
  /// by translation: so do the same pages with their lines in several times as many sets of the level, and
  /// still so many in each set of L1 that it holds none.
  double time_of_fitting(const Pages& pages, double ns) {
    const std::size_t count = pages.size() + aside_.size();
    fitting_.add(count, ns);
    const auto wrap = static_cast<std::int64_t>(offsets_of_control(count, task_.lines));
    if (wrap < 2) return fitting_.at(count, step_, most_rise * step_);
    for (int& looks = controls_[FittingTimes::step_of(count)]; looks < looks_at_control; ++looks) {
      Pages all = pages;
      all.insert(all.end(), aside_.begin(), aside_.end());
      shuffle_pages(all, random_);
      fitting_.add(count, sampler_.quick_time(
                              places_of_whole_pages(all, task_, random_, shift_of(task_), wrap), false));
    }
    return fitting_.at(count, step_, std::numeric_limits<double>::infinity());
  }

  bool overflows(const Pages& pages, int ahead_that_fit = ahead_to_fit) {
    if (sampler_.out_of_time()) throw Unknown{gave_up};
    if (pages.size() < fewest) return false;
    if (task_.whole) return pages_overflow(pages);
    int ahead = 0;
    for (int look = 0; look < most_looks && ahead < ahead_to_overflow && ahead > -ahead_that_fit; ++look)
      ahead += leaving(pages) >= overflow_ ? 1 : -1;
    return ahead > 0;
  }

  /// All sets of a page overflow or none, and disturbances only add time: one look without overflow decides.
  /// Others may use the level for a while, which all looks then show: so do pages that are known to fit.
  bool pages_overflow(const Pages& pages) {
    double least = 0, known = 0;
    for (int attempt = 0; attempt < attempts_beside; ++attempt) {
      for (int look = 0; look < looks_of_pages; ++look) {
        const double now = leaving(pages);
        if (now < overflow_) return false;
        least = look == 0 ? now : std::min(least, now);
      }
      if (fitting_pages_.size() < pages.size()) return true;
      const Pages as_many(fitting_pages_.begin(), fitting_pages_.begin() + std::ssize(pages));
      known = std::max(0.0, std::min(leaving(as_many), leaving(as_many)));
      if (known < overflow_ / 2) return leaving(pages) >= overflow_; // it was no disturbance that has ended
    }
    return least - known >= overflow_;
  }

  /// Whether pages that overflow fit without any one of some.
  bool needs_each(const Pages& pages) {
    for (std::size_t i = 0; i < std::min(pages.size(), pages_left_out); ++i) {
      const Pages fewer = without(pages, i, i + 1);
      double least = leaving(fewer);
      for (int look = 1; look < looks_of_pages; ++look)
        least = std::min(least, leaving(fewer));
      if (least >= overflow_ / 2) return false;
    }
    return true;
  }

  /// Of pages that do not overflow, the most are kept.
  void remember_fitting(const Pages& pages) {
    if (task_.whole && pages.size() > fitting_pages_.size() && leaving(pages) < overflow_)
      fitting_pages_ = pages;
  }

  Sampler& sampler_;
  const ColourTask& task_;
  FittingTimes fitting_; ///< of whole pages
  std::map<std::size_t, int>
      controls_; ///< looks at lines in several times as many sets, by FittingTimes::step_of()
  std::map<std::size_t, std::pair<int, double>> plain_by_pages_; ///< looks, and their least time
  Pages fitting_pages_;                                          ///< whole pages that do not overflow
  std::uint64_t random_;
  double overflow_;    ///< visits of a pass that leave
  double plain_ = 0;   ///< of the largest pages whose lines the first level holds when spread
  Pages aside_;        ///< visited with all others
  double step_ = 0;    ///< ns: a hit in the level beyond one in the level above
  double penalty_ = 0; ///< ns: a miss in the level
  std::map<std::size_t, double> least_; ///< ns a visit when nothing leaves, by the number of pages
  Pages sample_, whole_sample_;         ///< pages of it that have no known colour; all, sorted
  std::vector<Pages> found_, members_;
  std::vector<std::int64_t> from_sample_; ///< pages that each colour has of the sample
  std::vector<ColourReading> readings_;
  std::size_t firm_ = 0, joined_ = 0; ///< groups that have readings; those that are known to differ
  int dropped_ = 0;                   ///< groups that turned out to be none
};

constexpr std::size_t enough_groups = 3; ///< fewer may be noise
constexpr std::uint64_t most_searches = 3;
constexpr int looks_at_lines = 5;
constexpr double some_sets = 0.35; ///< of the penalty, that pages show of which a part overflows
constexpr double same_rise = 0.6;  ///< of the time that all lines of these pages show

PageColours not_searched(const ColourTask& task) {
  PageColours none;
  none.offset = task.offset;
  none.pages = task.pages;
  none.unknown = "page colours were not searched for";
  return none;
}

/// Several searches, until one finds something.
PageColours searched(Sampler& sampler, const ColourTask& task) {
  PageColours none = not_searched(task);
  for (std::uint64_t search = 0; search < most_searches; ++search) {
    ColourTask another = task;
    another.seed += search;
    try {
      return ColourSearch(sampler, another).run();
    } catch (const NoSharedSet& unknown) {
      none.unknown = unknown.reason;
      break;
    } catch (const Unknown& unknown) { // a burst of noise may be over
      none.unknown = unknown.reason;
      if (sampler.out_of_time()) break;
    }
  }
  return none;
}

/// The fewest lines of a page with which pages share all of their sets or none, where the index mixes bits of
/// the offset in the page with others: lines of which only the mixed bits differ. All lines of the page, if
/// no fewer lines overflow the level at the same number of pages.
ColourTask with_fewest_lines(Sampler& sampler, ColourTask task) {
  const std::int64_t few = 2 * task.ways_above + 2, all_lines = task.page / task.line;
  std::uint64_t random = task.seed;
  const auto choose = [&](std::int64_t lines, std::int64_t apart) {
    task.whole = true;
    task.lines = lines;
    task.apart = apart;
  };
  const auto time_of_pages = [&](std::int64_t count, std::int64_t shift = 0, std::int64_t wrap = 1) {
    Pages pages(static_cast<std::size_t>(count));
    std::iota(pages.begin(), pages.end(), std::int64_t{0});
    double least = std::numeric_limits<double>::infinity();
    for (int look = 0; look < looks_at_lines; ++look)
      least = std::min(least, sampler.quick_time(places_of_whole_pages(pages, task, random, shift, wrap)));
    return least;
  };
  // The fewer lines of a page are visited, the more translation adds to each. The same pages with their lines
  // in several times as many sets take that, too.
  const auto rise_at = [&](std::int64_t many) {
    const std::int64_t wrap = std::min(all_lines / task.lines, many / few);
    return time_of_pages(many) - (wrap < 2 ? time_of_pages(few) : time_of_pages(many, shift_of(task), wrap));
  };
  choose(all_lines, task.line);
  // So many pages that some sets overflow and others do not: with half as many, nearly none would.
  std::int64_t many = std::max(2 * few, task.capacity / 2);
  double of_all = rise_at(many);
  while (of_all < some_sets * task.penalty && many < task.pages / 2 && !sampler.out_of_time()) {
    many += std::max<std::int64_t>(1, task.capacity / 8);
    of_all = rise_at(many);
  }
  for (std::int64_t lines = 2; lines < all_lines && !sampler.out_of_time(); lines *= 2)
    for (const std::int64_t apart : {task.page / lines, task.line}) {
      choose(lines, apart);
      if (rise_at(many) > same_rise * of_all) return task;
    }
  choose(all_lines, task.line);
  return task;
}

} // namespace

PageColours find_colours(Sampler& sampler, const ColourTask& task) {
  const std::uint64_t place = 0;
  if (sampler.quick_time(std::span(&place, 1)) < 0) return not_searched(task);
  PageColours found = searched(sampler, task);
  if ((found.unknown.empty() && found.smallest.size() >= enough_groups) || sampler.out_of_time())
    return found;
  PageColours by_pages = searched(sampler, with_fewest_lines(sampler, task));
  if (by_pages.smallest.size() > found.smallest.size()) return by_pages;
  if (found.smallest.empty()) found.unknown += "; whole pages: " + by_pages.unknown;
  return found;
}

} // namespace recount::caches
