// Looks at pages: whether their lines overflow a set. Used by the search for page colours only.
#pragma once

#include "base/random.hpp"
#include "caches/infer/cached_sampler.hpp"
#include "caches/infer/colours.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace recount::caches {

using Pages = std::vector<std::int64_t>;

inline void shuffle_pages(Pages& pages, std::uint64_t& random) {
  for (std::size_t i = pages.size(); i > 1; --i)
    std::swap(pages[i - 1], pages[base::random_below(random, i)]);
}

inline Pages without(Pages pages, std::size_t from, std::size_t end) {
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

/// The measurements of one search. Throws Unknown when its time is over.
class ColourLooks {
public:
  ColourLooks(Sampler& sampler, const ColourTask& task)
      : sampler_(sampler),
        task_(task),
        random_(task.seed),
        overflow_(task.whole ? least_overflow_of_pages : least_overflow) {}

protected:
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
      return sampler_.glance(places_of_whole_pages(pages, task_, random_), look == Look::quick);
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
    return sampler_.glance(places, look == Look::quick);
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
      fitting_.add(count,
                   sampler_.glance(places_of_whole_pages(all, task_, random_, shift_of(task_), wrap), false));
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
};

} // namespace recount::caches
