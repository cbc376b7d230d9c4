// The source of readings of an inference, and a cache of its readings.
#pragma once

#include "kernel/loops/pattern.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::caches {

/// The cost per visit of one pattern with warm caches.
struct Reading {
  std::optional<double> ns; ///< absent: no clock, or not on record
  /// What three rounds did not exceed (of fewer, the longest): far above `ns`, others used the same hardware.
  std::optional<double> repeated_ns;
  std::size_t rounds = 0, disturbed = 0; ///< of the time; disturbed: interrupted, see result::disturbances()
  std::string why;                       ///< why there is no time; may be empty
  std::vector<std::optional<double>> misses;       ///< of each counted level, from the core outwards
  std::vector<std::optional<double>> translations; ///< misses of each counted data TLB
  /// Whether the time is one of interrupted rounds only.
  [[nodiscard]] bool time_disturbed() const { return rounds > 0 && disturbed == rounds; }
};

/// Times of one pattern per visit, a value per round.
struct TimedRounds {
  std::vector<double> undisturbed, disturbed;
  void add(double ns, bool was_disturbed) { (was_disturbed ? disturbed : undisturbed).push_back(ns); }
};

/// The abilities of a sampler.
struct Abilities {
  Witness witness;
  bool times = false;           ///< Reading::ns
  std::size_t counted = 0;      ///< levels whose misses are counted
  std::size_t counted_tlbs = 0; ///< data TLBs whose misses are counted
  bool exact = false;           ///< counts without noise; sets are chosen by the addresses of the pattern
  std::int64_t page = 4096;     ///< bytes
  std::int64_t most_bytes = 0;  ///< largest extent of a dense pattern
  std::size_t at_once = 1;      ///< readings that are best requested together
};

/// Lines of one page colour visited in turn, together with lines of others.
struct ColourReading {
  std::int64_t colour = 0, lines = 0; ///< which colour; how many of its pages
  std::int64_t shift = 0;             ///< bytes by which the lines of every second page are shifted
  double share = 0;                   ///< of these lines that miss
};

/// Pages by the sets of a level that their lines fall into, found by trying.
struct PageColours {
  std::int64_t pages = 0;     ///< tried in all
  std::int64_t left_over = 0; ///< of them, in no colour: too few of their kind to overflow a set
  std::string unknown;        ///< why there are none; empty: there are
  /// For each colour: pages that overflow a set and fit without any one of them.
  std::vector<std::vector<std::int64_t>> smallest;
  /// For each colour: all pages that were found to be of it, those of `smallest` first.
  std::vector<std::vector<std::int64_t>> members;
  bool mixed = false; ///< single lines at one offset share no set: other address bits change that of each
  std::vector<ColourReading> readings;
  std::string incomplete; ///< why there may be more colours, a clause; empty: nothing hindered the search
  /// Pages that took no part in finding the colours, and how many of them have one of these colours.
  std::int64_t sample = 0, in_sample = 0;
};

/// Large pages of the patterns that request them.
struct HugePages {
  std::int64_t requested = 0, granted = 0; ///< bytes
};

/// One source of readings. Not thread-safe.
class Sampler {
public:
  Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;
  [[nodiscard]] virtual const Abilities& abilities() const = 0;
  /// One reading per pattern, in order; patterns of one call are measured interleaved.
  [[nodiscard]] virtual std::vector<Reading> read(std::span<const kernel::Pattern> patterns) = 0;
  /// A short measurement of a cycle through these places, in ns per visit, for searches of thousands of
  /// steps. Negative: it cannot be had (no clock, or nothing but a record). `quickly`: one slice, which noise
  /// may lengthen.
  [[nodiscard]] virtual double quick_time([[maybe_unused]] std::span<const std::uint64_t> places,
                                          [[maybe_unused]] bool quickly = false) {
    return -1;
  }
  /// Whether large pages were granted, once a pattern has requested them. Nothing: none did, or it is not on
  /// record.
  [[nodiscard]] virtual std::optional<HugePages> huge_pages() const { return {}; }
  /// Whether the time that may be spent is over: searches end, and readings not yet taken have no value.
  [[nodiscard]] virtual bool out_of_time() const { return false; }
  /// Page colours that are known already. Nothing: they must be searched for.
  [[nodiscard]] virtual std::optional<PageColours> colours() { return {}; }
  /// Searches for page colours so far: another one starts with other pages.
  [[nodiscard]] virtual std::uint64_t searches() const { return 0; }
  /// Stores the result of a search; returns the best one so far.
  virtual PageColours keep(const PageColours& colours) { return colours; }
};

/// The seed of a pattern increases by this number per round, so that each round has another order.
inline constexpr std::int64_t seeds_per_round = 1000;

/// Why a search or a reading was given up once Sampler::out_of_time().
inline constexpr const char* gave_up = "out of time because of noise";

/// What a visit would have taken at another clock rate of the core: `reference` is what a chain of arithmetic
/// took at the same time, `base` what it takes at that other rate, in the same unit. Patterns that reach
/// levels shared with other cores are left as they are: these levels have clocks of their own. Pure.
[[nodiscard]] double normalised_time(double base, double reference, const kernel::Pattern& pattern,
                                     double ns);

/// One reading from what was measured in several rounds (per visit): of times the minimum where the pattern
/// fits private caches, since disturbances only add time, else the median; of counts the median. Disturbed
/// rounds count where there are no others.
[[nodiscard]] Reading make_reading(const kernel::Pattern& pattern, const TimedRounds& times,
                                   std::span<const std::vector<double>> misses);

/// Requests each pattern from the sampler once. Not thread-safe.
class CachedSampler {
public:
  explicit CachedSampler(Sampler& sampler) : sampler_(sampler) {}
  [[nodiscard]] const Abilities& abilities() const { return sampler_.abilities(); }
  /// The readings, in order; missing ones are requested from the sampler together.
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns);
  Reading read(const kernel::Pattern& pattern) { return read(std::span(&pattern, 1)).front(); }
  /// All readings so far.
  [[nodiscard]] const std::map<kernel::Pattern, Reading>& taken() const { return taken_; }

private:
  Sampler& sampler_;
  std::map<kernel::Pattern, Reading> taken_;
};

/// Why a property cannot be determined; thrown within an inference and caught where the property is made.
struct Unknown {
  std::string reason; ///< a clause
};

/// The time of a reading; throws Unknown with the reason of the reading, or `otherwise`.
[[nodiscard]] double require_time(const Reading& reading, const char* otherwise);

} // namespace recount::caches
