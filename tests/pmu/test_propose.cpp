// Rows from counts alone: 200 events of the simulated machine, half of them useless or misleading, over the
// kernels of the cross-check; the rows of the CPU are hidden and then compared with what was proposed.
#include "events.hpp"

#include "commands/check/check.hpp"
#include "commands/propose/measured_rows.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/written.hpp"
#include "model/machine.hpp"
#include "run/witness/backend.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <random>
#include <set>

using namespace recount;

BOOST_AUTO_TEST_SUITE(proposals)

namespace {

constexpr int repetitions = 3;
constexpr std::size_t real_events = 100;

double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) / 9007199254740992.0;
}

/// Adds the events that mislead: 20 dead, 20 constant, 30 noisy, 20 scaled by two, 10 contaminated.
void add_misleading(std::map<std::string, double>& counts, const std::vector<std::string>& real,
                    std::mt19937_64& random) {
  const auto of = [&](std::size_t i) { return counts.at(real[i % real.size()]); };
  for (std::size_t i = 0; i < 20; ++i) {
    counts[fmt::format("DEAD_{}", i)] = 0;
    counts[fmt::format("CONSTANT_{}", i)] = static_cast<double>(1000 * (i + 1));
    counts[fmt::format("TWICE_{}", i)] = 2 * of(i);
  }
  for (std::size_t i = 0; i < 30; ++i)
    counts[fmt::format("NOISY_{}", i)] = of(i) * (0.5 + uniform(random));
  for (std::size_t i = 0; i < 10; ++i) // by wrong-path or prefetch work, which depends on the point
    counts[fmt::format("CONTAMINATED_{}", i)] = of(i) + 0.3 * of(i + 7);
}

struct Everything {
  PresetTable truth = PresetTable::read(std::getenv("RECOUNT_TRUTH"));
  preset::CpuView view;
  propose::Statements statements;
  result::Results results;
  propose::MeasuredProposals proposed;

  Everything() {
    const auto& core = *preset::default_pmu();
    view = preset::view(truth.document(), core.name, &core, PapiVersion::v7_0);
    const auto machine = model::machine("host");
    statements = propose::statements(machine);
    propose::EventIndex index({&core, nullptr}, PapiVersion::v7_0);
    const propose::Proposals relatives = relatives_of(core.name);
    std::vector<std::string> real = view.names;
    for (const std::string& name : propose::events_to_count(index, relatives))
      if (real.size() < real_events && std::ranges::find(real, name) == real.end() && opens(name))
        real.push_back(name);
    record(real);
    propose::MeasuredProposals made = propose::propose_measured(results, statements, relatives);
    proposed = std::move(made);
  }

  /// PAPI's table where one is installed; the rows of the CPU are not used.
  static propose::Proposals relatives_of(const std::string& cpu) {
    PresetTable table = PresetTable::of("CPU,none\nPRESET,PAPI_TOT_INS,NOT_DERIVED,X\n");
    try {
      table = PresetTable::read(preset::installed_tables().back());
    } catch (const Error&) {
    }
    return propose::Lineage(table, nullptr).propose(cpu, {});
  }
  static bool opens(const std::string& name) {
    perf_event_attr attr = encode(name, Domain::user).attr;
    attr.size = sizeof attr;
    return test::EventFd(attr, 0, -1, -1).error() == 0;
  }

  void record(const std::vector<std::string>& real) {
    std::mt19937_64 random(1);
    for (const sweep::Job& job : propose::make_jobs(statements, {"x"}, 1, 1)) {
      const kernel::Kernel& kernel = kernel::find(job.kernel);
      if (job.witness == "model") {
        for (auto& o : witness::find("model").observe(kernel, nullptr,
                                                      {"r", job.kernel, job.point, 0, "model", job.metrics}))
          results.observations.push_back(std::move(o));
        continue;
      }
      try {
        const auto instance = kernel.prepare(job.point);
        instance->warm();
        for (int repetition = 0; repetition < repetitions; ++repetition) {
          const auto encoder = [](const std::string& event) { return encode(event, Domain::user).attr; };
          const auto counted = test::count_all(real, encoder, instance->region());
          std::map<std::string, double> counts(counted.begin(), counted.end());
          add_misleading(counts, real, random);
          for (const auto& [event, count] : counts)
            add(job, event, count, repetition, instance->accesses());
        }
      } catch (const Error&) { // an instruction that this processor lacks
      }
    }
  }
  void add(const sweep::Job& job, const std::string& event, double count, int repetition,
           std::int64_t accesses) {
    auto& o = results.observations.emplace_back();
    o.kernel = job.kernel;
    o.params = job.point;
    o.witness = "perf";
    o.metric = event;
    o.repetition = repetition;
    o.value = static_cast<std::int64_t>(count);
    o.accesses = accesses;
  }
};

const Everything& everything() {
  static const Everything all;
  return all;
}

/// The median count of a formula at each place, for comparing formulas: what counts the same everywhere
/// cannot be told apart by any analysis.
std::map<std::pair<std::string, result::Params>, double> values(const std::map<std::string, int>& terms,
                                                                int divisor) {
  std::map<std::pair<std::string, result::Params>, double> sums;
  for (const auto& o : everything().results.observations)
    if (const auto at = terms.find(o.metric); at != terms.end() && o.repetition == 0 && o.witness == "perf")
      sums[{o.kernel, o.params}] += at->second * *result::as_double(o.value) / divisor;
  return sums;
}

bool equal(const propose::Fit& fit, const std::map<std::string, int>& truth) {
  const auto a = values(fit.terms, fit.divisor), b = values(truth, 1);
  return std::ranges::all_of(a, [&](const auto& one) {
    const auto at = b.find(one.first);
    return at != b.end() && std::abs(one.second - at->second) <=
                                1 + 64.0 * static_cast<double>(fit.terms.size() + truth.size());
  });
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_are_found_from_counts) {
  const Everything& all = everything();
  std::size_t provable = 0, first = 0, in_set = 0, high = 0;
  std::vector<std::string> wrong;
  for (const Preset& preset : all.view.loaded.presets) {
    const bool proven =
        std::ranges::any_of(all.statements.proofs, [&](const auto& p) { return p.preset == preset.name; });
    const auto form = formula::linear(all.view.meanings.at(preset.name));
    if (!proven || !form) continue;
    ++provable;
    std::map<std::string, int> truth;
    for (const auto& [v, factor] : form->coefficients)
      truth[all.view.names.at(static_cast<std::size_t>(v))] = static_cast<int>(factor);
    const auto row = std::ranges::find(all.proposed.rows, preset.name, &propose::MeasuredPreset::preset);
    const std::string text = formula::to_text(*form, all.view.names);
    if (row == all.proposed.rows.end()) {
      const auto why = std::ranges::find(all.proposed.missing, preset.name, &propose::Unproposed::preset);
      std::printf("missing: %s = %s: %s\n", preset.name.c_str(), text.c_str(),
                  why == all.proposed.missing.end() ? "?" : why->reason.c_str());
      continue;
    }
    const auto& found = row->fits.found;
    const auto at = std::ranges::find_if(found, [&](const propose::Fit& fit) { return equal(fit, truth); });
    const bool sure = row->confidence == propose::Confidence::high;
    high += sure ? 1U : 0U;
    if (sure && at != found.begin()) wrong.push_back(preset.name);
    first += at == found.begin() ? 1U : 0U;
    in_set += at != found.end() ? 1U : 0U;
    if (at != found.begin())
      std::printf("%s: %s = %s, proposed %s (%zu formulas, %zu points, %zu not 0)\n",
                  at == found.end() ? "other" : "in set", preset.name.c_str(), text.c_str(),
                  propose::formula_text(found.front()).c_str(), found.size(), row->fits.points,
                  row->fits.positive);
    if (at == found.end() && found.size() == 1 && row->same.empty())
      wrong.push_back(preset.name + " without alternatives");
  }
  std::printf(
      "%s: %zu provable presets: %zu right, %zu right or in the set, %zu of high confidence, %zu wrong; "
      "%zu events, %zu distinct, "
      "%zu dead, %zu constant, %zu irreproducible\n",
      test::machine_name().c_str(), provable, first, in_set, high, wrong.size(), all.proposed.events,
      all.proposed.distinct,
      all.proposed.unusable.count(propose::Usability::dead)
          ? all.proposed.unusable.at(propose::Usability::dead).size()
          : 0,
      all.proposed.unusable.count(propose::Usability::constant)
          ? all.proposed.unusable.at(propose::Usability::constant).size()
          : 0,
      all.proposed.unusable.count(propose::Usability::irreproducible)
          ? all.proposed.unusable.at(propose::Usability::irreproducible).size()
          : 0);
  BOOST_TEST(all.proposed.events == 200U);
  BOOST_TEST(10 * in_set >= 9 * provable);
  BOOST_TEST(high > 0U);
  for (const std::string& name : wrong)
    BOOST_ERROR("wrong: " << name);
}

BOOST_AUTO_TEST_SUITE_END()
