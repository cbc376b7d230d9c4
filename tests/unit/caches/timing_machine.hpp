// A machine with a clock and no counters, simulated: what the inference by time is tested against.
#pragma once

#include "commands/caches/infer/sampler.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// How a set chooses the line that leaves: exact order of use, one bit per line, or at random.
enum class Replacement { lru, nru, random };

struct TimedLevel {
  std::int64_t size = 0, ways = 0, line = 64; ///< bytes
  double ns = 0;                              ///< a hit
  Replacement replacement = Replacement::lru;
  bool hashed = false;    ///< every address bit takes part in the choice of the set
  std::size_t folded = 0; ///< bits of the set in the page that are the exclusive or with bits of the frame
  [[nodiscard]] std::int64_t sets() const { return size / (ways * line); }
};

/// Disturbances, as shares of what they disturb unless said otherwise.
struct Disturbances {
  double jitter = 0.002;     ///< standard deviation of a slice
  double burst = 0;          ///< rounds in which everything takes longer
  double steal = 0;          ///< slices that the hypervisor interrupts: several times as long
  double neighbour = 0;      ///< readings beside a hardware thread that uses a part of the first level
  double clock_error = 0;    ///< of the correction for the core clock rate, standard deviation
  double shared_traffic = 0; ///< further latency of levels shared with other cores: times up to 1 + this
};

struct TimedMachine {
  std::string name;
  TimedLevel l1, l2;
  std::int64_t l3_size = 0; ///< bytes that this machine has of it; 0: memory follows L2
  double l3_ns = 0, memory_ns = 80;
  std::int64_t tlb = 64, tlb2 = 1536; ///< entries
  double tlb_ns = 2, walk_ns = 10;    ///< of a miss in the first, in the second
  std::int64_t run = 1;               ///< pages that lie side by side in physical memory
  bool neighbours_fetched = false;    ///< L2 fetches aligned pairs of lines
  Disturbances disturbances;
};

/// Reads such a machine. The visits of a pattern are a cycle, so what stays in a set follows from how many
/// lines of the cycle fall into it; no access is replayed. Deterministic by its seed.
class TimingSampler : public recount::caches::Sampler {
public:
  TimingSampler(const TimedMachine& machine, std::uint64_t seed);
  [[nodiscard]] const recount::caches::Abilities& abilities() const override { return can_; }
  std::vector<recount::caches::Reading> read(std::span<const recount::kernel::Pattern> patterns) override;
  double quick_time(std::span<const std::uint64_t> places, bool quickly) override;
  [[nodiscard]] bool out_of_time() const override { return looks_ > max_looks; }
  [[nodiscard]] std::int64_t looks() const { return looks_; }

private:
  static constexpr std::int64_t max_looks = 60'000; ///< glances that some seconds suffice for

  double exact(const recount::kernel::Pattern& pattern);
  double exact_of_pages(std::int64_t pages);
  double exact_of_places(std::span<const std::uint64_t> places, double visits_per_line, double second_visits,
                         bool second_apart);
  double exact_of_any_order(std::span<const std::uint64_t> places, double visits_per_line,
                            double second_visits, bool second_apart);
  double translation_in_order(std::span<const std::uint64_t> places);
  std::uint64_t physical(std::uint64_t place);
  std::size_t different_pages(std::span<const std::uint64_t> places);
  [[nodiscard]] std::size_t set_of(const TimedLevel& level, std::uint64_t address) const;
  [[nodiscard]] double beyond(std::int64_t bytes) const;
  [[nodiscard]] double translation(double pages, double visits_per_page) const;
  double disturbed(double ns, bool in_burst);
  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }

  TimedMachine machine_;
  recount::caches::Abilities can_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> in_first_, in_second_; ///< lines by set, all 0 between readings
  static constexpr std::uint64_t no_frame = ~std::uint64_t{0};
  std::vector<std::uint64_t> frames_, seen_in_; ///< by page: where it lies; the last look at it
  std::uint64_t look_ = 0;
  double shared_ns_ = 0; ///< of the last exact time: what levels shared with other cores took
  std::int64_t looks_ = 0;
};

/// A machine of the seed: a published geometry or a random one, with random latencies and disturbances.
[[nodiscard]] TimedMachine timed_machine(std::uint64_t seed);
