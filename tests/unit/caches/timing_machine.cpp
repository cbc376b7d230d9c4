#include "timing_machine.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

using recount::kernel::Pattern;

namespace {

constexpr std::int64_t page = 4096, line_of_survey = 64, by_pages_from = 4096, // visits
    private_bytes = std::int64_t{8} << 20;
constexpr int rounds_of_small = 6, rounds_of_large = 2;

/// Share of hits of n lines visited in turn in one set.
double simulated_hits(Replacement replacement, std::int64_t ways, std::int64_t lines) {
  std::vector<std::int64_t> held(static_cast<std::size_t>(ways), -1), order(static_cast<std::size_t>(lines));
  std::vector<char> used(static_cast<std::size_t>(ways));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::uint64_t random = 7;
  std::int64_t hits = 0;
  constexpr int warm = 12, measured = 24;
  for (int pass = 0; pass < warm + measured; ++pass)
    for (const std::int64_t line : order) {
      auto at = std::ranges::find(held, line);
      if (at != held.end()) {
        hits += pass >= warm ? 1 : 0;
      } else {
        at = std::ranges::find(held, -1);
        if (at == held.end() && replacement == Replacement::random)
          at = held.begin() + static_cast<std::ptrdiff_t>(
                                  recount::base::random_below(random, static_cast<std::uint64_t>(ways)));
        if (at == held.end()) {
          if (std::ranges::count(used, 0) == 0) std::ranges::fill(used, 0);
          at = held.begin() + (std::ranges::find(used, 0) - used.begin());
        }
        *at = line;
      }
      used[static_cast<std::size_t>(at - held.begin())] = 1;
      if (std::ranges::count(used, 0) == 0) {
        std::ranges::fill(used, 0);
        used[static_cast<std::size_t>(at - held.begin())] = 1;
      }
    }
  return static_cast<double>(hits) / static_cast<double>(measured * lines);
}

/// The same for lines visited `often` times a pass at random moments.
double hits_in_set(Replacement replacement, std::int64_t ways, std::int64_t lines, double often) {
  if (lines <= ways) return 1;
  if (often > 1.5) // another visit comes before so many other lines that the order of use drops it
    return 1 -
           std::pow(
               std::max(0.0, 1 + std::log1p(-static_cast<double>(ways) / static_cast<double>(lines)) / often),
               often - 1);
  if (replacement == Replacement::lru) return 0;
  if (lines > 6 * ways) return 0.0;
  static std::map<std::tuple<Replacement, std::int64_t, std::int64_t>, double> known;
  const auto [at, fresh] = known.try_emplace({replacement, ways, lines}, 0);
  if (fresh) at->second = simulated_hits(replacement, ways, lines);
  return at->second;
}

/// The share of hits by the lines of a set, each computed once.
class HitsBySize {
public:
  HitsBySize(const TimedLevel& level, double often) : level_(level), often_(often) {}
  double operator()(std::int64_t lines) const {
    const auto at = static_cast<std::size_t>(lines);
    if (at >= known_.size()) known_.resize(at + 1, -1);
    if (known_[at] < 0) known_[at] = hits_in_set(level_.replacement, level_.ways, lines, often_);
    return known_[at];
  }

private:
  const TimedLevel& level_;
  double often_;
  mutable std::vector<double> known_;
};

std::uint64_t mixed(std::uint64_t state) {
  return recount::base::next_random(state);
}

} // namespace

TimingSampler::TimingSampler(const TimedMachine& machine, std::uint64_t seed)
    : machine_(machine),
      seed_(seed),
      random_(seed),
      in_first_(static_cast<std::size_t>(machine.l1.sets())),
      in_second_(static_cast<std::size_t>(machine.l2.sets())) {
  can_.witness = "clock";
  can_.times = true;
  can_.page = page;
  can_.max_bytes = std::int64_t{128} << 20;
  can_.at_once = 12;
}

std::uint64_t TimingSampler::physical(std::uint64_t place) {
  const std::uint64_t number = place / page, run = static_cast<std::uint64_t>(machine_.run);
  if (number >= frames_.size()) frames_.resize(number + 1, no_frame);
  if (frames_[number] == no_frame)
    frames_[number] =
        (mixed(seed_ * 1'000'003 + number / run) % (std::uint64_t{1} << 22)) * run + number % run;
  return frames_[number] * page + place % page;
}

std::size_t TimingSampler::set_of(const TimedLevel& level, std::uint64_t address) const {
  const std::uint64_t line = address / static_cast<std::uint64_t>(level.line);
  const auto sets = static_cast<std::uint64_t>(level.sets());
  if (level.hashed) return mixed(line >> 2) * 4 % sets + line % 4;
  return (line % sets) ^ (address / page / 37 & level.folded);
}

std::size_t TimingSampler::different_pages(std::span<const std::uint64_t> places) {
  ++look_;
  std::size_t pages = 0;
  for (const std::uint64_t place : places) {
    const std::uint64_t number = place / page;
    if (number >= seen_in_.size()) seen_in_.resize(number + 1, 0);
    if (seen_in_[number] != look_) ++pages;
    seen_in_[number] = look_;
  }
  return pages;
}

/// A miss in the second level.
double TimingSampler::beyond(std::int64_t bytes) const {
  if (machine_.l3_size == 0) return machine_.memory_ns;
  const double full = static_cast<double>(bytes) / static_cast<double>(machine_.l3_size);
  const double misses = std::clamp((full - 0.6) / 1.2, 0.0, 1.0);
  return machine_.l3_ns + misses * (machine_.memory_ns - machine_.l3_ns);
}

double TimingSampler::translation(double pages, double often) const {
  const auto misses = [&](std::int64_t entries) {
    if (pages <= static_cast<double>(entries)) return 0.0;
    if (often < 1.5) return 1.0;
    const double gap = -std::log1p(-static_cast<double>(entries) / pages) / often;
    return std::pow(std::max(0.0, 1 - gap), often - 1);
  };
  return machine_.tlb_ns * misses(machine_.tlb) + machine_.walk_ns * misses(machine_.tlb2);
}

/// All lines of so many pages from the first, which the first level does not hold.
double TimingSampler::exact_of_pages(std::int64_t pages) {
  const TimedLevel& l2 = machine_.l2;
  const std::int64_t lines = page / line_of_survey;
  double misses = 0;
  if (l2.hashed) {
    misses =
        std::clamp((static_cast<double>(pages * page) / static_cast<double>(l2.size) - 0.8) / 0.5, 0.0, 1.0);
  } else {
    const std::int64_t way = l2.sets() * l2.line, colours = std::max<std::int64_t>(1, way / page);
    std::vector<std::int64_t> of_colour(static_cast<std::size_t>(colours));
    for (std::int64_t i = 0; i < pages; ++i)
      ++of_colour[(physical(static_cast<std::uint64_t>(i * page)) / page) %
                  static_cast<std::uint64_t>(colours)];
    const std::int64_t folded = std::max<std::int64_t>(1, page / way); // lines of one page in one set
    for (const std::int64_t n : of_colour)
      misses += static_cast<double>(n) * (1 - hits_in_set(l2.replacement, l2.ways, n * folded, 1));
    misses /= static_cast<double>(pages);
  }
  shared_ns_ = misses * (beyond(pages * page) - l2.ns);
  return l2.ns + shared_ns_ + translation(static_cast<double>(pages), static_cast<double>(lines));
}

/// Places in different lines. `second_visits`: as many again beside them, apart or in the same line.
double TimingSampler::exact_of_places(std::span<const std::uint64_t> places, double often,
                                      double second_visits, bool second_apart) {
  const TimedLevel &l1 = machine_.l1, &l2 = machine_.l2;
  std::vector<std::size_t> first, second;
  first.reserve(places.size());
  second.reserve(places.size());
  for (const std::uint64_t place : places) {
    first.push_back(set_of(l1, place));
    second.push_back(set_of(l2, physical(place)));
    ++in_first_[first.back()];
  }
  const HitsBySize hits_first(l1, often), hits_second(l2, often);
  std::vector<double> missing(places.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    missing[i] = 1 - hits_first(in_first_[first[i]]);
    if (missing[i] > 0.02) ++in_second_[second[i]];
  }
  double ns = 0, shared = 0;
  const auto bytes = static_cast<std::int64_t>(places.size()) * line_of_survey;
  const double far = beyond(bytes);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double m1 = missing[i], m2 = m1 > 0.02 ? 1 - hits_second(in_second_[second[i]]) : 0;
    ns += l1.ns + m1 * (l2.ns - l1.ns);
    shared += m1 * m2 * (far - l2.ns);
    if (second_visits == 0) continue;
    const double near =
        machine_.neighbours_fetched && second_apart ? 0.3 : 1; // L2 has it when it is asked for
    ns += second_apart ? l1.ns + m1 * (l2.ns - l1.ns) : l1.ns;
    if (second_apart) shared += near * m1 * m2 * (far - l2.ns);
  }
  for (std::size_t i = 0; i < first.size(); ++i)
    in_first_[first[i]] = in_second_[second[i]] = 0;
  const double visits = static_cast<double>(places.size()) * (1 + second_visits);
  shared_ns_ = shared / visits;
  return ns / visits + shared_ns_;
}

/// Places visited at random moments.
double TimingSampler::exact_of_any_order(std::span<const std::uint64_t> places, double often,
                                         double second_visits, bool second_apart) {
  const auto pages = static_cast<double>(different_pages(places));
  const double of_page = static_cast<double>(places.size()) * often / pages;
  const double ns = exact_of_places(places, often, second_visits, second_apart);
  return ns + translation(pages, of_page) / (1 + second_visits);
}

/// What translation adds per visit of places in this order: each TLB drops what came first.
double TimingSampler::translation_in_order(std::span<const std::uint64_t> places) {
  double ns = 0;
  for (const auto& [entries, cost] :
       {std::pair(machine_.tlb, machine_.tlb_ns), std::pair(machine_.tlb2, machine_.walk_ns)}) {
    if (static_cast<std::int64_t>(different_pages(places)) <= entries) break;
    std::vector<std::int64_t> came(seen_in_.size(), -entries - 1); // of each page: how many came before
    std::int64_t all = 0, misses = 0;
    for (const int pass : {0, 1})
      for (const std::uint64_t place : places) {
        if (came[place / page] >= all - entries) continue;
        came[place / page] = all++;
        misses += pass;
      }
    ns += cost * static_cast<double>(misses) / static_cast<double>(places.size());
  }
  return ns;
}

double TimingSampler::exact(const Pattern& pattern) {
  if (recount::kernel::is_dense(pattern) && pattern.stride == line_of_survey &&
      pattern.count > by_pages_from && pattern.count * line_of_survey > 3 * machine_.l1.size)
    return exact_of_pages(pattern.count * pattern.stride / page);
  std::vector<std::uint64_t> places;
  const std::int64_t line = machine_.l1.line, often = std::max<std::int64_t>(1, line / pattern.stride);
  std::uint64_t last = ~std::uint64_t{0};
  for (std::int64_t i = 0; i < pattern.count; ++i) {
    const std::int64_t slot = pattern.slots.empty() ? i : pattern.slots[static_cast<std::size_t>(i)];
    const auto place =
        static_cast<std::uint64_t>(slot * pattern.stride + i % pattern.wrap * pattern.shift + pattern.offset);
    if (place / static_cast<std::uint64_t>(line) == last) continue; // another visit of the same line
    last = place / static_cast<std::uint64_t>(line);
    places.push_back(place);
  }
  if (pattern.pair == 0) return exact_of_any_order(places, static_cast<double>(often), 0, false);
  // The second access of a pair: of the same line, or a line of its own that competes for the sets too.
  const bool apart = pattern.pair >= line;
  if (!apart) return exact_of_any_order(places, 1, 1, false);
  const bool fetched = machine_.neighbours_fetched && pattern.pair < 2 * machine_.l2.line;
  if (fetched) return exact_of_any_order(places, 1, 1, true);
  std::vector<std::uint64_t> both = places;
  for (const std::uint64_t place : places)
    both.push_back(place + static_cast<std::uint64_t>(pattern.pair));
  return exact_of_any_order(both, 1, 0, false);
}

double TimingSampler::disturbed(double ns, bool in_burst) {
  const Disturbances& d = machine_.disturbances;
  // The library requires a standard deviation above 0: that of a distribution, which none of these need be.
  double factor = 1 + d.jitter * std::abs(std::normal_distribution<double>()(random_));
  factor *= 1 + d.clock_error * std::normal_distribution<double>()(random_);
  if (in_burst) factor *= std::uniform_real_distribution<double>(1.05, 1.6)(random_);
  if (chance(d.steal)) factor *= std::uniform_real_distribution<double>(1.5, 10)(random_);
  // Other cores delay what leaves the second level only.
  const double traffic = std::exponential_distribution<double>(3)(random_) * d.shared_traffic;
  return (ns + shared_ns_ * traffic) * factor;
}

std::vector<recount::caches::Reading> TimingSampler::read(std::span<const Pattern> patterns) {
  const Disturbances& d = machine_.disturbances;
  // A neighbour works for seconds: several calls.
  const bool beside = std::bernoulli_distribution(d.neighbour)(random_);
  std::array<bool, rounds_of_small> bursts{};
  for (bool& burst : bursts)
    burst = chance(d.burst);
  std::vector<recount::caches::Reading> readings;
  for (const Pattern& pattern : patterns) {
    const std::int64_t bytes = recount::kernel::extent(pattern);
    double ns = exact(pattern);
    const double share =
        std::min(1.0, static_cast<double>(pattern.count * 64) / static_cast<double>(machine_.l1.size));
    if (beside) ns += 0.08 * share * share * (machine_.l2.ns - machine_.l1.ns);
    recount::caches::TimedRounds all;
    for (int round = 0; round < (bytes > private_bytes ? rounds_of_large : rounds_of_small); ++round)
      all.add(disturbed(ns, bursts[static_cast<std::size_t>(round)]), false);
    readings.push_back(recount::caches::make_reading(pattern, all, {}));
  }
  return readings;
}

double TimingSampler::quick_time(std::span<const std::uint64_t> places, bool quickly) {
  ++looks_;
  const double ns = exact_of_places(places, 1, 0, false) + translation_in_order(places);
  double least = disturbed(ns, chance(machine_.disturbances.burst));
  for (int slice = 1; slice < (quickly ? 1 : 3); ++slice)
    least = std::min(least, disturbed(ns, chance(machine_.disturbances.burst)));
  return least;
}

namespace {

struct KnownGeometry {
  const char* name;
  std::int64_t l1, l1_ways, l2, l2_ways; ///< KiB
};

// Data sheets and the optimisation manuals of the vendors.
constexpr KnownGeometry known_geometries[] = {
    {"Sandy Bridge", 32, 8, 256, 8},   {"Haswell", 32, 8, 256, 8},
    {"Skylake", 32, 8, 256, 4},        {"Skylake-SP", 32, 8, 1024, 16},
    {"Ice Lake", 48, 12, 512, 8},      {"Ice Lake-SP", 48, 12, 1280, 20},
    {"Golden Cove", 48, 12, 1280, 10}, {"Sapphire Rapids", 48, 12, 2048, 16},
    {"Raptor Cove", 48, 12, 2048, 16}, {"Lion Cove", 48, 12, 3072, 12},
    {"Gracemont", 32, 8, 2048, 16},    {"Zen", 32, 8, 512, 8},
    {"Zen 4", 32, 8, 1024, 8},         {"Zen 5", 48, 12, 1024, 16},
    {"Neoverse N1", 64, 4, 1024, 8},   {"Neoverse V2", 64, 4, 2048, 8},
    {"Cortex-A57", 32, 2, 2048, 16},   {"Cortex-A76", 64, 4, 512, 8},
    {"Cortex-A53", 32, 4, 512, 16},    {"Goldmont", 24, 6, 1024, 16},
    {"Bobcat", 32, 8, 512, 16}};

class Draw {
public:
  explicit Draw(std::uint64_t seed) : state_(seed * 7919 + 17) {}
  double between(double low, double high) {
    return low +
           (high - low) * static_cast<double>(recount::base::next_random(state_) >> 11) / 9007199254740992.0;
  }
  bool one_in(std::uint64_t n) { return recount::base::random_below(state_, n) == 0; }
  template <typename T, std::size_t n>
  T of(const std::array<T, n>& values) {
    return values[static_cast<std::size_t>(recount::base::random_below(state_, n))];
  }
  std::uint64_t below(std::uint64_t n) { return recount::base::random_below(state_, n); }

private:
  std::uint64_t state_;
};

void draw_geometry(TimedMachine& m, Draw& draw) {
  if (!draw.one_in(3)) {
    const KnownGeometry& known = known_geometries[draw.below(std::size(known_geometries))];
    m.name = known.name;
    m.l1.size = known.l1 << 10;
    m.l1.ways = known.l1_ways;
    m.l2.size = known.l2 << 10;
    m.l2.ways = known.l2_ways;
    return;
  }
  m.name = "random";
  const std::int64_t way = draw.one_in(5) ? 8192 : 4096;
  m.l1.ways = draw.of(std::array<std::int64_t, 9>{2, 4, 5, 6, 8, 10, 12, 14, 16});
  m.l1.size = way * m.l1.ways;
  if (draw.one_in(10)) m.l1.line = m.l2.line = 128;
  m.l2.ways = draw.of(std::array<std::int64_t, 8>{4, 6, 8, 10, 12, 16, 18, 20});
  do
    m.l2.size = m.l2.ways * 4096 * draw.of(std::array<std::int64_t, 8>{8, 16, 24, 32, 40, 48, 64, 128});
  while (m.l2.size < 4 * m.l1.size || m.l2.size > 4 << 20);
  m.l2.hashed = draw.one_in(12);
}

/// As AMD Zen 4 was seen to do: pages of one colour share all of their sets, but lines at one offset do not.
void fold_index(TimedMachine& m, Draw& draw) {
  constexpr std::array<std::size_t, 4> folds{0b111000, 0b111000, 0b000111, 0b111111};
  const bool zen = m.name.starts_with("Zen");
  if (m.l2.hashed || m.l2.line != line_of_survey || (m.l2.sets() & (m.l2.sets() - 1)) != 0) return;
  if (zen) m.l2.folded = folds[0];
  if (!zen && draw.one_in(10)) m.l2.folded = draw.of(folds);
}

void draw_disturbances(Disturbances& d, Draw& draw) {
  d.jitter = draw.between(0.0005, 0.004);
  if (draw.one_in(3)) return; // a quiet machine
  d.burst = draw.between(0, 0.2);
  d.clock_error = draw.between(0, 0.003);
  d.steal = draw.between(0, 0.05);
  if (draw.one_in(2)) d.neighbour = draw.between(0, 0.5);
  if (draw.one_in(3)) { // a program that streams through memory on another core
    d.jitter *= 3;
    d.burst = draw.between(0.1, 0.4);
    d.steal = draw.between(0.02, 0.2);
    d.shared_traffic = draw.between(0, 3);
  }
}

} // namespace

TimedMachine timed_machine(std::uint64_t seed) {
  Draw draw(seed);
  TimedMachine m;
  draw_geometry(m, draw);
  const std::array policies{Replacement::lru, Replacement::lru, Replacement::nru, Replacement::random};
  m.l1.replacement =
      draw.of(std::array{Replacement::lru, Replacement::lru, Replacement::lru, Replacement::nru});
  m.l2.replacement = draw.of(policies);
  m.l1.ns = draw.between(0.8, 2);
  m.l2.ns = m.l1.ns * draw.between(2.4, 4.2);
  m.l3_ns = m.l2.ns * draw.between(2.5, 6);
  if (!draw.one_in(8)) m.l3_size = m.l2.size * static_cast<std::int64_t>(draw.between(4, 24));
  m.memory_ns = m.l3_ns * draw.between(2.5, 6);
  m.tlb = draw.of(std::array<std::int64_t, 6>{32, 48, 64, 72, 96, 128});
  m.tlb2 = draw.of(std::array<std::int64_t, 5>{512, 1024, 1536, 2048, 3072});
  m.tlb_ns = m.l2.ns * draw.between(0.3, 0.9);
  m.walk_ns = m.l3_ns * draw.between(0.5, 1.5);
  m.run = draw.of(std::array<std::int64_t, 4>{1, 1, 1, 4});
  m.neighbours_fetched = draw.one_in(3);
  draw_disturbances(m.disturbances, draw);
  fold_index(m, draw);
  return m;
}
