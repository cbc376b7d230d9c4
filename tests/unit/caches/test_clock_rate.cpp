// Times of a core whose clock rate changes while it is measured, replayed from a record: what was taken
// beside each time puts them right, and without it they mislead.
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "observed.hpp"
#include "unit/caches/model_sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <random>

using namespace recount;

BOOST_AUTO_TEST_SUITE(clock_rate)

namespace {

model::MachineDescription sunny_cove() {
  model::MachineDescription machine;
  machine.name = "sunny cove";
  machine.levels.resize(2);
  machine.levels[0].name = "L1d";
  machine.levels[0].size = 48 << 10;
  machine.levels[0].line = 64;
  machine.levels[0].ways = 12;
  machine.levels[1] = machine.levels[0];
  machine.levels[1].name = "L2";
  machine.levels[1].size = 512 << 10;
  machine.levels[1].ways = 8;
  return machine;
}

/// Times that follow from the model's misses, in cycles of a clock that steps between 3.9 and 3.4 GHz as seen
/// on a server whose other cores begin and end to work, put on record with the time of a chain of arithmetic.
class DriftingClock : public caches::Sampler {
public:
  /// One of the readings is put right too far, as if something else had delayed what lay beside it.
  explicit DriftingClock(result::Results& record, std::size_t max_readings = 1'000'000,
                         std::size_t overdone = 0)
      : model_(sunny_cove(), 64 << 20), record_(record), max_readings_(max_readings), overdone_(overdone) {
    can_ = model_.abilities();
    can_.witness = Witness::clock;
    can_.exact = false;
    can_.times = true;
    can_.counted = can_.counted_tlbs = 0;
    can_.at_once = 12;
    record.runs.push_back({});
    record.runs.back().id = "R";
    record.runs.back().plan = caches::record_plan(can_);
  }
  [[nodiscard]] const caches::Abilities& abilities() const override { return can_; }
  [[nodiscard]] bool out_of_time() const override { return readings_ >= max_readings_; }

  std::vector<caches::Reading> read(std::span<const kernel::Pattern> patterns) override {
    const auto exact = model_.read(patterns);
    std::vector<caches::Reading> all;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (++readings_ % 40 == 0) step_ = (step_ + 1) % rates.size();
      all.push_back(out_of_time() ? refused(patterns[i]) : timed(patterns[i], exact[i]));
    }
    return all;
  }

private:
  static constexpr std::array rates{3.9, 3.8, 3.6, 3.5, 3.4, 3.6, 3.7}; ///< GHz

  caches::Reading timed(const kernel::Pattern& pattern, const caches::Reading& exact) {
    caches::TimedRounds times;
    for (int round = 0; round < 4; ++round) {
      const double cycles = 5 + 11 * *exact.misses[0] + 90 * *exact.misses[1] + spread_(random_);
      const double reference = 8000e-9 / rates[step_] * (readings_ == overdone_ ? 1.14 : 1);
      if (base_ == 0) base_ = reference;
      record_.observations.push_back(observation(pattern, round, caches::reference_metric, reference));
      const double seconds = cycles / rates[step_] * 1e-9 * static_cast<double>(pattern.visits());
      record_.observations.push_back(observation(pattern, round, "seconds", seconds));
      record_.observations.back().accesses = pattern.visits();
      times.add(caches::normalised_time(base_, reference, pattern, cycles / rates[step_]), false);
    }
    return caches::make_reading(pattern, times, {});
  }

  caches::Reading refused(const kernel::Pattern& pattern) {
    auto o = observation(pattern, 0, "seconds", {});
    o.reason = caches::gave_up;
    record_.observations.push_back(o);
    caches::Reading reading;
    reading.why = caches::gave_up;
    return reading;
  }

  static result::Observation observation(kernel::Pattern pattern, int round, const std::string& metric,
                                         result::Number value) {
    pattern.seed += round * recount::caches::seeds_per_round;
    const auto point = kernel::to_point(pattern, 1);
    return test::observed(point.kernel, point.params, "clock", metric, value, round);
  }

  ModelSampler model_;
  result::Results& record_;
  std::size_t max_readings_, overdone_, readings_ = 0, step_ = 0;
  double base_ = 0;
  caches::Abilities can_;
  std::mt19937_64 random_{11};
  std::exponential_distribution<double> spread_{100}; ///< cycles, 0.01 in the mean: disturbances only add
};

caches::Caches replayed(const result::Results& record) {
  caches::RecordSampler replay(record, record.runs[0]);
  return caches::infer_caches(replay);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_changing_clock_rate_is_taken_out) {
  result::Results record;
  DriftingClock sampler(record);
  for (const caches::Caches& found : {caches::infer_caches(sampler), replayed(record)}) {
    BOOST_TEST_REQUIRE(!found.levels.empty());
    const caches::LevelFinding& first = found.levels[0];
    BOOST_TEST(first.capacity.value.value_or(0) == 48 << 10, first.capacity.unknown.text());
    BOOST_TEST(first.line.value.value_or(0) == 64, first.line.unknown.text());
    BOOST_TEST(first.ways.value.value_or(0) == 12, first.ways.unknown.text());
    BOOST_TEST((caches::settled(found) >= caches::Settled::first_level));
  }
}

BOOST_AUTO_TEST_CASE(one_time_that_is_too_short_does_not_lower_the_floor) {
  for (const std::size_t overdone : {2U, 12U}) {
    result::Results record;
    DriftingClock sampler(record, 1'000'000, overdone);
    const caches::Caches found = caches::infer_caches(sampler);
    BOOST_TEST_REQUIRE(!found.levels.empty());
    BOOST_TEST(found.levels[0].capacity.value.value_or(0) == 48 << 10,
               found.levels[0].capacity.unknown.text());
    BOOST_TEST(found.levels[0].ways.value.value_or(0) == 12);
  }
}

BOOST_AUTO_TEST_CASE(without_the_reference_the_same_times_tell_nothing_wrong) {
  result::Results record;
  DriftingClock sampler(record);
  static_cast<void>(caches::infer_caches(sampler));
  std::erase_if(record.observations, [](const auto& o) { return o.metric == caches::reference_metric; });
  const caches::Caches found = replayed(record);
  BOOST_TEST_REQUIRE(!found.levels.empty());
  BOOST_TEST(found.levels[0].capacity.value.value_or(48 << 10) == 48 << 10);
  BOOST_TEST(found.levels[0].ways.value.value_or(12) == 12);
}

BOOST_AUTO_TEST_CASE(what_time_did_not_suffice_for_is_unknown_for_that_reason) {
  for (const std::size_t most : {std::size_t{1}, std::size_t{120}}) {
    result::Results record;
    DriftingClock sampler(record, most);
    const caches::Caches live = caches::infer_caches(sampler), later = replayed(record);
    BOOST_TEST_CONTEXT("after " << most << " readings") {
      for (const caches::Caches* found : {&live, &later}) {
        BOOST_TEST_REQUIRE(!found->levels.empty());
        BOOST_TEST(!found->levels[0].capacity.value);
        BOOST_TEST(found->levels[0].capacity.unknown.cause == caches::gave_up);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
