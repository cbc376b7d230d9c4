#include "caches/infer/colours.hpp"

#include "base/format.hpp"
#include "caches/infer/pairs.hpp"
#include "caches/infer/properties.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace recount::caches {

namespace {

using kernel::dense;
using kernel::Pattern;

/// With pages placed at random, this share of the accesses leaves an LRU cache of 4 to 24 ways when the
/// working set is as large as the cache: sets hold more lines or fewer than they have ways.
constexpr double share_at_capacity = 0.54;
constexpr double crossing_least = 0.7, crossing_most = 1.2; ///< of crossing / capacity that is believed

std::string in_bytes(double bytes) {
  return base::format_bytes(std::round(bytes / 1024) * 1024);
}

class PagedLevel {
public:
  PagedLevel(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task)
      : level_(level), sampler_cache_(cached), sampler_(sampler), task_(task) {}

  void fill() {
    level_.capacity = unknown_property("capacity", "bytes", {});
    level_.ways = unknown_property("ways", "lines", {});
    try {
      find_crossing();
    } catch (const Unknown& unknown) { // the colours do without
      no_crossing_ = unknown.reason;
    }
    find_line();
    try {
      fill_from_colours();
    } catch (const Unknown& unknown) {
      if (!level_.ways.value) level_.ways.unknown = unknown.reason;
      fill_from_crossing(unknown.reason);
    }
  }

private:
  /// Share of the accesses to a dense working set that leave, the cost of translation subtracted.
  [[nodiscard]] double share(std::int64_t bytes, const Reading& reading) const {
    if (reading.misses.size() > task_.level && reading.misses[task_.level])
      return *reading.misses[task_.level];
    const double ns = time_of(reading, "no time was taken around its capacity");
    const std::int64_t pages = bytes / sampler_cache_.abilities().page;
    return (ns - task_.translation->random_cost(pages) - task_.hit) / (task_.next_hit - task_.hit);
  }

  void find_crossing() {
    std::vector<Pattern> patterns;
    for (double size = 0.6 * static_cast<double>(task_.around);
         size < 3.2 * static_cast<double>(task_.around); size *= std::exp2(0.125))
      patterns.push_back(dense(std::llround(size / 4096) * 4096 / task_.line, task_.line));
    const auto readings = sampler_cache_.read(patterns);
    double highest = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const std::int64_t bytes = patterns[i].count * task_.line;
      highest = std::max(highest, share(bytes, readings[i])); // more data cannot leave less often
      if (!shares_.empty() && crossing_ == 0 && highest > share_at_capacity) {
        const auto& [before, low] = shares_.back();
        const double part = (share_at_capacity - low) / std::max(highest - low, 1e-9);
        crossing_ = before * std::pow(static_cast<double>(bytes) / before, std::clamp(part, 0.0, 1.0));
      }
      shares_.emplace_back(static_cast<double>(bytes), highest);
    }
    if (crossing_ == 0) throw Unknown{"no working set has a miss rate clearly above one half"};
    for (const auto& [bytes, exceeds] : shares_)
      level_.capacity.points.push_back({in_bytes(bytes), exceeds});
    level_.capacity.quantity = fmt::format("{} miss rate", level_.name);
  }

  /// Pairs far apart enough that the first touch of each leaves the level. Longer lines and lines that come
  /// in pairs look alike.
  void find_line() {
    Property& p = level_.line = unknown_property("line", "bytes", {});
    const auto patterns = pair_patterns(5 * task_.around / pair_block);
    std::vector<double> ns;
    try {
      for (const Reading& reading : sampler_cache_.read(patterns))
        ns.push_back(time_of(reading, "the time of pairs was not measured"));
    } catch (const Unknown& unknown) {
      p.unknown = unknown.reason;
      return;
    }
    const auto points = pair_points(patterns, ns);
    const auto line = line_from_pairs(points);
    p.quantity = "ns per access";
    for (const PairPoint& point : points)
      p.points.push_back({fmt::format("second access {} bytes further", point.distance), point.near_first});
    p.threshold = "midpoint between pairs 8 bytes and pairs 512 bytes apart";
    if (!line) {
      p.unknown = "the second access of a pair misses at no clear distance";
    } else if (line->bytes != task_.line || line->prefetch_seen) {
      p.unknown = fmt::format(
          "accesses {} bytes apart hit together: a line of twice the size, or lines fetched in pairs",
          line->bytes / 2);
    } else {
      p.value = static_cast<double>(line->bytes);
      p.confidence = Confidence::medium;
      p.routes = {{"shortest distance at which the second access of a pair misses", *p.value}};
      p.against = "the second access of a pair further apart hit";
      p.words.push_back(
          fmt::format("Pairs of accesses in random blocks over {}: {:.1f} ns per access at {} bytes, "
                      "{:.1f} ns at {} bytes.",
                      in_bytes(static_cast<double>(patterns.front().count * pair_block)),
                      points[points.size() - 5].near_first, points[points.size() - 5].distance,
                      points[points.size() - 4].near_first, line->bytes));
      p.evidence = fmt::format("pairs of accesses: {:.1f} ns at {} bytes, {:.1f} ns at {} bytes",
                               points[points.size() - 5].near_first, points[points.size() - 5].distance,
                               points[points.size() - 4].near_first, line->bytes);
    }
  }

  [[nodiscard]] PageColours colours() {
    if (auto recorded = sampler_.colours()) {
      if (!recorded->unknown.empty()) throw Unknown{recorded->unknown};
      return *recorded;
    }
    ColourTask task;
    task.step = task_.hit - task_.first_hit;
    // Neighbours can push what leaves this level out of the next one, too; what is asked here is only
    // whether anything leaves.
    task.penalty = std::min(task_.next_hit - task_.hit, 6 * task_.hit);
    task.line = task_.line;
    task.page = sampler_cache_.abilities().page;
    task.pages = 5 * task_.around / task.page;
    task.offset = 13 * task_.line;
    task.ways_above = task_.ways_above;
    task.lines_above = task_.capacity_above / task_.line;
    const auto found = find_colours(sampler_, task);
    sampler_.keep(found);
    if (!found.unknown.empty()) throw Unknown{found.unknown};
    return found;
  }

  /// One less than the pages that overflow a set. A line that others keep using makes some sets overflow
  /// earlier: most decide.
  [[nodiscard]] static std::int64_t ways_of(const PageColours& found) {
    std::map<std::int64_t, std::int64_t> sets; // by pages that overflow them
    for (const auto& pages : found.smallest)
      ++sets[std::ssize(pages)];
    const auto [pages, alike] = *std::ranges::max_element(sets, {}, [](const auto& s) { return s.second; });
    if (4 * alike < 3 * std::ssize(found.smallest))
      throw Unknown{fmt::format("{} to {} pages overflow a set: noise, or a hashed index",
                                sets.begin()->first, sets.rbegin()->first)};
    return pages - 1;
  }

  void fill_from_colours() {
    const PageColours found = colours();
    const std::int64_t ways = ways_of(found);
    if (ways <= task_.ways_above) throw Unknown{"it has no more ways than the level above"};
    const auto colours = std::ssize(found.smallest);
    const double capacity = static_cast<double>(colours * ways * sampler_cache_.abilities().page);
    const auto believable = [&](double bytes) {
      return bytes > crossing_least * capacity && bytes < crossing_most * capacity;
    };
    fill_ways(found, ways);
    if (2 * found.left_over > ways)
      throw Unknown{fmt::format("{} pages belong to no colour: there may be more colours than the {} found",
                                found.left_over, colours)};
    // Where neighbours disturb the next level, the crossing moves, but not the place where the rise begins.
    if (!believable(crossing_) && !believable(1.3 * static_cast<double>(task_.around)))
      throw Unknown{
          fmt::format("{} colours x {} ways = {}, but misses begin around {}: a hashed index, or other users",
                      colours, ways, in_bytes(capacity), in_bytes(crossing_))};
    fill_capacity(found, ways, capacity);
  }

  void fill_ways(const PageColours& found, std::int64_t ways) {
    Property& p = level_.ways;
    p.value = static_cast<double>(ways);
    p.confidence = std::ssize(found.smallest) > 2 ? Confidence::high : Confidence::medium;
    p.routes = {
        {fmt::format("fewest pages that overflow a set minus one, in {} colours", found.smallest.size()),
         static_cast<double>(ways)}};
    p.quantity = "pages whose lines at one offset overflow a set";
    for (const auto& pages : found.smallest)
      p.points.push_back(
          {fmt::format("pages of the colour of page {}", pages.front()), static_cast<double>(pages.size())});
    p.threshold = "more than one miss per pass";
    p.against = "the smallest group of another colour had another size";
    const auto alike = std::ranges::count_if(
        found.smallest, [&](const auto& pages) { return std::ssize(pages) == ways + 1; });
    p.words.push_back(fmt::format(
        "One line in each of {} pages at the same offset: {} such lines of one colour miss in {}, and any {} "
        "of them fit, in {} of {} colours. {} ways.",
        found.pages, ways + 1, level_.name, ways,
        alike == std::ssize(found.smallest) ? "all" : std::to_string(alike), found.smallest.size(), ways));
    p.evidence = fmt::format("fewest pages of one colour that overflow a set: {}, in {} of {} colours",
                             ways + 1, alike, found.smallest.size());
  }

  void fill_capacity(const PageColours& found, std::int64_t ways, double capacity) {
    Property& p = level_.capacity;
    p.value = capacity;
    p.confidence = crossing_ > crossing_least * capacity && crossing_ < crossing_most * capacity
                       ? Confidence::high
                       : Confidence::medium;
    p.routes = {{"page colours x ways x page size", capacity}};
    if (crossing_ > 0) p.routes.push_back({"working set with a miss rate of 54 %", crossing_});
    p.threshold = "a miss rate of 54 %";
    p.against = fmt::format("a page had no colour, or the crossing were outside {} to {} times the product",
                            crossing_least, crossing_most);
    p.words.push_back(fmt::format("{0} pages, {1} colours: {1} colours x {2} ways x {3} per page = {4}.",
                                  found.pages, found.smallest.size(), ways,
                                  in_bytes(static_cast<double>(sampler_cache_.abilities().page)),
                                  in_bytes(capacity)));
    p.evidence = fmt::format("{} page colours x {} ways x {} per page", found.smallest.size(), ways,
                             in_bytes(static_cast<double>(sampler_cache_.abilities().page)));
    add_crossing_words(p);
  }

  void add_crossing_words(Property& p) const {
    if (crossing_ == 0) return;
    std::vector<std::string> rising;
    double next = 0.05;
    for (const auto& [bytes, exceeds] : shares_) {
      if (exceeds < next) continue;
      rising.push_back(fmt::format("{:.2f} at {}", exceeds, in_bytes(bytes)));
      next = exceeds + 0.2;
    }
    p.words.push_back(
        fmt::format("The {} miss rate rises gradually, because random page placement fills some sets "
                    "before others: {}; 54 % at {}.",
                    level_.name, fmt::join(rising, ", "), in_bytes(crossing_)));
  }

  /// Without colours the rule of 54 % is left. It holds for LRU; other replacement keeps a part of what does
  /// not fit, and the crossing comes later.
  void fill_from_crossing(const std::string& why) {
    Property& p = level_.capacity;
    if (crossing_ == 0) {
      p.unknown = no_crossing_ + "; " + why;
      return;
    }
    if (!task_.next_is_level) {
      p.unknown = "the miss time varies too much to derive the miss rate; " + why;
      return;
    }
    p.value = crossing_;
    p.tolerance = 0.2;
    p.confidence = Confidence::low;
    p.threshold = "a miss rate of 54 %";
    p.against = "an independent derivation differed by more than a fifth";
    p.routes = {{"working set with a miss rate of 54 %", crossing_}};
    add_crossing_words(p);
    p.words.push_back(
        fmt::format("Under random placement this is the capacity of an LRU cache within 3 %, and up to a "
                    "fifth more for other policies. Not confirmed independently: {}.",
                    why));
    p.evidence = fmt::format("working set with a miss rate of 54 %: {}", in_bytes(crossing_));
  }

  LevelFinding& level_;
  CachedSampler& sampler_cache_;
  Sampler& sampler_;
  const PagedTask& task_;
  std::string no_crossing_;
  double crossing_ = 0;                           ///< bytes
  std::vector<std::pair<double, double>> shares_; ///< bytes, share that leaves
};

} // namespace

void fill_from_pages(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task) {
  PagedLevel(level, cached, sampler, task).fill();
}

} // namespace recount::caches
