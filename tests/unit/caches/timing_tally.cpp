#include "timing_tally.hpp"

#include <fmt/format.h>

#include <cmath>

namespace {

void tally(TimingTallies& tallies, const std::string& level, const recount::caches::Property& found,
           double truth, const std::string& machine, std::ostream& log) {
  TimingTally& t = tallies[level + " " + found.name];
  const bool high = found.value && found.confidence == recount::caches::Confidence::high;
  t.high += high ? 1 : 0;
  if (!found.value) {
    ++t.unknown;
    if (level != "L2 DTLB")
      log << fmt::format("{}: {} {} unknown: {}\n", machine, level, found.name, found.unknown.text());
  } else if (*found.value == truth) {
    ++t.exact;
  } else if (std::abs(*found.value - truth) <= found.tolerance * *found.value) {
    ++t.within;
  } else {
    ++t.wrong;
    t.wrong_at_high += high ? 1 : 0;
    log << fmt::format("{}: {} {} is {:g}, found {:g} +- {:g} %, confidence {}\n", machine, level, found.name,
                       truth, *found.value, 100 * found.tolerance, to_string(found.confidence));
  }
}

std::string described(std::uint64_t seed, const TimedMachine& m) {
  static const char* const names[] = {"LRU", "NRU", "random"};
  return fmt::format("seed {} {} L1 {}K/{} {} L2 {}K/{}{} {} line {}{}{}", seed, m.name, m.l1.size >> 10,
                     m.l1.ways, names[static_cast<int>(m.l1.replacement)], m.l2.size >> 10, m.l2.ways,
                     m.l2.hashed        ? " hashed"
                     : m.l2.folded != 0 ? " folded"
                                        : "",
                     names[static_cast<int>(m.l2.replacement)], m.l1.line,
                     m.neighbours_fetched ? " pairs" : "", m.disturbances.shared_traffic > 0 ? " hog" : "");
}

} // namespace

TimingTallies tally_machines(std::uint64_t from, std::uint64_t count, std::ostream& log) {
  TimingTallies all;
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    const TimedMachine machine = timed_machine(seed);
    TimingSampler sampler(machine, seed);
    const recount::caches::Caches found = recount::caches::infer_caches(sampler);
    const std::string name = described(seed, machine);
    const std::array truths{&machine.l1, &machine.l2};
    for (std::size_t i = 0; i < truths.size(); ++i) {
      const std::string level = i == 0 ? "L1d" : "L2";
      const auto known = i < found.levels.size() ? found.levels[i] : recount::caches::LevelFinding{};
      const auto hold = [&](recount::caches::Property p, const char* property, std::int64_t truth) {
        p.name = property;
        tally(all, level, p, static_cast<double>(truth), name, log);
      };
      hold(known.capacity, "capacity", truths[i]->size);
      hold(known.line, "line", truths[i]->line);
      hold(known.ways, "ways", truths[i]->ways);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      auto entries = i < found.tlbs.size() ? found.tlbs[i].entries : recount::caches::Property{};
      entries.name = "entries";
      tally(all, i == 0 ? "L1 DTLB" : "L2 DTLB", entries,
            static_cast<double>(i == 0 ? machine.tlb : machine.tlb2), name, log);
    }
  }
  return all;
}

std::ostream& operator<<(std::ostream& out, const TimingTallies& tallies) {
  out << fmt::format("{:16} {:>7} {:>7} {:>8} {:>6} {:>7} {:>14}\n", "property", "exact", "within", "unknown",
                     "wrong", "high", "wrong at high");
  for (const auto& [name, t] : tallies)
    out << fmt::format("{:16} {:6.1f}% {:6.1f}% {:7.1f}% {:5.1f}% {:6.1f}% {:14}\n", name,
                       100.0 * static_cast<double>(t.exact) / static_cast<double>(t.all()),
                       100.0 * static_cast<double>(t.within) / static_cast<double>(t.all()),
                       100.0 * static_cast<double>(t.unknown) / static_cast<double>(t.all()),
                       100.0 * static_cast<double>(t.wrong) / static_cast<double>(t.all()),
                       100.0 * static_cast<double>(t.high) / static_cast<double>(t.all()), t.wrong_at_high);
  return out;
}
