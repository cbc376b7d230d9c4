// How many wrong rows of preset tables the cross-check finds. One run on the simulated machine records the
// counts of all events at all points; rows are then evaluated over these counts and judged by the code of
// `recount check`. Under recount emulate --exact, right rows are judged by what the kernels execute.
#include "events.hpp"

#include "base/host/emulation.hpp"
#include "commands/check/check.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/view.hpp"
#include "model/machine.hpp"
#include "run/witness/backend.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/preset.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <random>
#include <sched.h>
#include <set>
#include <sstream>
#include <stdexcept>

using namespace recount;
using check::PresetVerdict, check::Verdict;

BOOST_AUTO_TEST_SUITE(mutants)

namespace {

/// The most wrong rows that may agree, the least of the coarse kinds that are found wrong, and the most right
/// rows that bounds alone confirm.
constexpr double max_agree = 0.02, threshold_found = 0.92;
constexpr std::size_t max_plausible = 20;
/// What can only be doubted where the event added counts nothing, or where a count is known roughly.
constexpr std::array fine_kinds{"small factor", "event added", "event subtracted", "kernel added"};

/// Whether something besides the rows makes counts differ; then only right rows are judged.
bool contaminated() {
  return std::getenv("RECOUNT_CONTAMINATED") != nullptr;
}
/// For maintainers: RECOUNT_NOISY_RUNS, runs for each level of noise; RECOUNT_NOISE, noise of wrong rows (a
/// share); RECOUNT_WRONG_ROWS=1, judge wrong rows by executed kernels, too.
double from_environment(const char* name, double otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::atof(value) : otherwise;
}

/// A row: formula in reverse Polish notation, or a type of PAPI's.
struct Row {
  std::string preset, type, formula;
  std::vector<std::string> terms;
  [[nodiscard]] std::string text() const {
    return fmt::format("PRESET,{},{},{}{}", preset, type, formula.empty() ? "" : formula + ",",
                       fmt::join(terms, ","));
  }
};

std::vector<Row> find_rows(const std::string& file) {
  std::vector<Row> all;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("PRESET,")) continue;
    std::istringstream fields(line);
    std::vector<std::string> words;
    for (std::string word; std::getline(fields, word, ',');)
      words.push_back(word);
    Row row{words.at(1), words.at(2), {}, {}};
    std::size_t at = 3;
    if (row.type == "DERIVED_POSTFIX") row.formula = words.at(at++);
    row.terms.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    all.push_back(row);
  }
  return all;
}

/// Events that wrong rows use beside those of the table; the first counts nothing on these machines.
std::vector<std::string> other_events() {
  if (test::machine_name() == "skl")
    return {"FP_ARITH:512B_PACKED_DOUBLE",
            "L2_RQSTS:ALL_PF",
            "L2_RQSTS:REFERENCES",
            "L2_RQSTS:ALL_DEMAND_MISS",
            "UOPS_RETIRED:ALL",
            "UOPS_ISSUED:ANY",
            "BR_INST_RETIRED:NEAR_TAKEN",
            "BR_INST_RETIRED:NEAR_CALL",
            "BR_MISP_RETIRED:ALL_BRANCHES",
            "MEM_LOAD_RETIRED:L1_MISS",
            "MEM_LOAD_RETIRED:L2_MISS",
            "FP_ARITH:SCALAR_DOUBLE",
            "FP_ARITH:SCALAR_SINGLE",
            "L2_RQSTS:ALL_DEMAND_REFERENCES",
            "RESOURCE_STALLS:ANY",
            "L1D:REPLACEMENT"};
  if (test::machine_name() == "n1")
    return {"STREX_FAIL_SPEC", "BR_MIS_PRED_RETIRED", "BR_IMMED_SPEC", "BR_RETURN_SPEC", "BR_INDIRECT_SPEC",
            "DP_SPEC",         "L1D_CACHE_REFILL_WR", "L1D_CACHE_WB",  "MEM_ACCESS",     "L1D_TLB_REFILL",
            "L1I_TLB_REFILL",  "STALL_FRONTEND"};
  if (test::machine_name() == "adl" || test::machine_name() == "spr") {
    std::vector<std::string> names{"L2_RQSTS:ALL_DEMAND_MISS",
                                   "L2_RQSTS:DEMAND_DATA_RD_HIT",
                                   "L2_RQSTS:RFO_HIT",
                                   "UOPS_RETIRED:SLOTS",
                                   "UOPS_ISSUED:ANY",
                                   "BR_INST_RETIRED:NEAR_TAKEN",
                                   "BR_INST_RETIRED:NEAR_CALL",
                                   "BR_INST_RETIRED:INDIRECT",
                                   "BR_MISP_RETIRED:ALL_BRANCHES",
                                   "MEM_INST_RETIRED:LOCK_LOADS",
                                   "MEM_LOAD_RETIRED:L1_HIT",
                                   "MEM_LOAD_RETIRED:L1_MISS",
                                   "MEM_LOAD_RETIRED:L2_MISS",
                                   "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE",
                                   "FP_ARITH_INST_RETIRED:SCALAR_SINGLE",
                                   "CYCLE_ACTIVITY:STALLS_TOTAL"};
    if (test::machine_name() == "spr")
      names.emplace_back("MEM_TRANS_RETIRED:STORE_SAMPLE");
    else
      names.insert(names.end(), {"HW_INTERRUPTS:RECEIVED", "L2_RQSTS:REFERENCES"});
    return names;
  }
  return {"RETIRED_NEAR_RETURNS_MISPREDICTED", "RETIRED_OPS",
          "RETIRED_TAKEN_BRANCH_INSTRUCTIONS", "RETIRED_NEAR_RETURNS",
          "MAB_ALLOCATION_BY_TYPE:ALL",        "REQUESTS_TO_L2_GROUP1:PREFETCH_L2_CMD",
          "RETIRED_FP_OPS_BY_TYPE:SCALAR_ALL"};
}

/// A wrong row, and how it was made.
struct Mutant {
  Row row;
  std::string kind;
};

class Mutants {
public:
  explicit Mutants(const std::vector<Row>& rows) : rows_(rows) {
    for (const Row& row : rows)
      for (const std::string& term : row.terms)
        if (std::ranges::find(events_, term) == events_.end()) events_.push_back(term);
  }

  std::vector<Mutant> all() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      neighbours(i);
      swaps(row, i);
      for (const char* factor : {"2|*", "2|/", "4|*", "8|*"})
        add("factor", {row.preset, "DERIVED_POSTFIX", postfix(row) + factor + "|", row.terms});
      for (const char* factor : {"85|*|100|/", "9|*|10|/", "11|*|10|/", "117|*|100|/", "5|*|4|/", "3|*|2|/"})
        add("small factor", {row.preset, "DERIVED_POSTFIX", postfix(row) + factor + "|", row.terms});
      if (row.preset == "PAPI_TOT_INS" || row.preset == "PAPI_BR_INS" || row.preset == "PAPI_LD_INS")
        add("a thousandth", {row.preset, "DERIVED_POSTFIX", postfix(row) + "1001|*|1000|/|", row.terms});
      sums(row, i);
      terms(row);
    }
    published();
    return std::move(made_);
  }

private:
  static std::string postfix(const Row& row) {
    if (!row.formula.empty()) return row.formula.back() == '|' ? row.formula : row.formula + "|";
    std::string text = "N0|";
    for (std::size_t i = 1; i < row.terms.size(); ++i)
      text += fmt::format("N{}|{}|", i, row.type == "DERIVED_SUB" ? "-" : "+");
    return text;
  }
  void add(const std::string& kind, const Row& row) {
    for (const Row& right : rows_)
      if (right.preset == row.preset && same(right, row)) return;
    for (const Mutant& other : made_)
      if (other.row.text() == row.text()) return;
    made_.push_back({row, kind});
  }
  static bool same(const Row& a, const Row& b) {
    auto sorted = [](Row row) {
      if (row.type == "DERIVED_ADD") std::ranges::sort(row.terms);
      row.type = row.terms.size() == 1 && row.formula.empty() ? "NOT_DERIVED" : row.type;
      return row.text();
    };
    return sorted(a) == sorted(b);
  }
  void neighbours(std::size_t i) {
    for (const std::size_t step : {std::size_t{1}, rows_.size() - 1}) {
      Row row = rows_[(i + step) % rows_.size()];
      row.preset = rows_[i].preset;
      add("neighbour preset", row);
    }
  }
  void swaps(const Row& row, std::size_t i) {
    constexpr std::size_t each = 4;
    for (std::size_t k = 0; k < each; ++k)
      add("swapped event", {row.preset, "NOT_DERIVED", {}, {events_[(7 * i + 11 * k + 3) % events_.size()]}});
  }
  /// Rows with an event too many, added or subtracted.
  void sums(const Row& row, std::size_t i) {
    constexpr std::size_t each = 6;
    std::vector<std::string> pool = other_events();
    pool.insert(pool.end(), events_.begin(), events_.end());
    for (std::size_t k = 0; k < each; ++k) {
      Row more = row;
      const std::string& event = pool[(5 * i + 7 * k + 1) % pool.size()];
      if (std::ranges::find(row.terms, event) != row.terms.end()) continue;
      more.formula = postfix(row) + fmt::format("N{}|{}|", row.terms.size(), k % 3 == 2 ? "-" : "+");
      more.type = "DERIVED_POSTFIX";
      more.terms.push_back(event);
      add(k % 3 == 2 ? "event subtracted" : "event added", more);
    }
    Row kernel = row; // counts the kernel's part twice where PAPI counts both domains
    kernel.formula = postfix(row) + fmt::format("N{}|+|", row.terms.size());
    kernel.type = "DERIVED_POSTFIX";
    kernel.terms.push_back(row.terms.front() + ":k");
    add("kernel added", kernel);
  }
  void terms(const Row& row) {
    Row domain = row;
    domain.terms[0] += ":k";
    add("domain", domain);
    for (std::size_t i = 0; i < row.terms.size(); ++i) {
      Row dead = row;
      dead.terms[i] = other_events().front();
      if (row.terms[i] != dead.terms[i]) add("dead term", dead);
    }
    if (row.terms.size() > 1 && row.formula.empty()) {
      Row other = row;
      other.type = row.type == "DERIVED_ADD" ? "DERIVED_SUB" : "DERIVED_ADD";
      add("ADD/SUB", other);
      for (std::size_t i = 0; i < row.terms.size(); ++i) {
        Row less = row;
        less.terms.erase(less.terms.begin() + static_cast<std::ptrdiff_t>(i));
        if (less.terms.size() == 1) less.type = "NOT_DERIVED";
        add("dropped term", less);
      }
      Row twice = row;
      twice.terms.push_back(row.terms.back());
      add("term twice", twice);
    }
    const bool vectors = row.preset.find("_VEC_") != row.preset.npos, misses = row.preset.ends_with("DCM");
    const auto plus = [&](const char* kind, const std::string& event) {
      Row more = row;
      more.formula = postfix(row) + fmt::format("N{}|+|", row.terms.size());
      more.type = "DERIVED_POSTFIX";
      more.terms.push_back(event);
      add(kind, more);
    };
    const bool skl = test::machine_name() == "skl", amd = test::machine_name() == "zen4";
    const std::map<std::string, const char*> scalars{{"skl", "FP_ARITH:SCALAR_DOUBLE"},
                                                     {"adl", "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE"},
                                                     {"n1", "VFP_SPEC"},
                                                     {"zen4", "RETIRED_FP_OPS_BY_TYPE:SCALAR_ALL"}};
    if (vectors && scalars.contains(test::machine_name()))
      plus("scalars in VEC", scalars.at(test::machine_name()));
    // Of a system call, and half of the mispredictions where both directions are as frequent.
    const char* const far = amd                            ? "RETIRED_FAR_CONTROL_TRANSFERS"
                            : test::machine_name() == "n1" ? nullptr
                                                           : "BR_INST_RETIRED:FAR_BRANCH";
    const bool may_be_far =
        row.preset == "PAPI_BR_INS" || row.preset == "PAPI_BR_UCN" || row.preset == "PAPI_BR_TKN";
    if (far != nullptr && !may_be_far && row.preset.ends_with("_INS")) plus("far branches", far);
    if (far != nullptr && !amd && row.preset == "PAPI_BR_MSP")
      add("unbalanced", {row.preset,
                         "DERIVED_POSTFIX",
                         "N0|2|*|",
                         {skl ? "BR_MISP_RETIRED:NEAR_TAKEN" : "BR_MISP_RETIRED:COND_TAKEN"}});
    if (misses && (skl || amd))
      plus("prefetches in DCM", skl ? "L2_RQSTS:ALL_PF" : "REQUESTS_TO_L2_GROUP1:PREFETCH_L2_CMD");
  }
  /// Rows that shipped, or that a check accepted once.
  void published() {
    if (test::machine_name() == "zen4") // what loads and stores at once is no access
      add("published",
          {"PAPI_L1_DCA", "DERIVED_ADD", {}, {"LS_DISPATCH:LD_DISPATCH", "LS_DISPATCH:STORE_DISPATCH"}});
    if (test::machine_name() != "skl") return;
    for (const auto& [preset, event] : std::vector<std::pair<std::string, std::string>>{
             {"PAPI_TOT_CYC", "INST_RETIRED:ANY_P"},
             {"PAPI_REF_CYC", "INST_RETIRED:ANY_P"},
             {"PAPI_FUL_CCY", "INST_RETIRED:ANY_P"},
             {"PAPI_RES_STL", "CPU_CLK_THREAD_UNHALTED:THREAD_P"},
             {"PAPI_MEM_WCY", "CPU_CLK_THREAD_UNHALTED:THREAD_P"},
             {"PAPI_STL_CCY", "RESOURCE_STALLS:ANY"},
             {"PAPI_L3_LDM", "MEM_LOAD_RETIRED:L1_MISS"},
             {"PAPI_CA_SNP", "L2_RQSTS:ALL_DEMAND_REFERENCES"},
             {"PAPI_L1_DCM", "L2_RQSTS:ALL_DEMAND_REFERENCES"},
             {"PAPI_TLB_DM", "DTLB_LOAD_MISSES:MISS_CAUSES_A_WALK"},
             {"PAPI_BR_MSP", "BR_MISP_RETIRED:ALL_BRANCHES"},
             {"PAPI_VEC_DP", "FP_ARITH:128B_PACKED_DOUBLE"}})
      add("published", {preset, "NOT_DERIVED", {}, {event}});
    add("published",
        {"PAPI_L2_TCA", "DERIVED_ADD", {}, {"L2_RQSTS:ALL_DEMAND_REFERENCES", "L2_RQSTS:ALL_CODE_RD"}});
    add("published", {"PAPI_L2_DCW", "DERIVED_ADD", {}, {"L2_RQSTS:DEMAND_RFO_HIT", "L2_RQSTS:RFO_HIT"}});
  }

  const std::vector<Row>& rows_;
  std::vector<std::string> events_;
  std::vector<Mutant> made_;
};

struct Place {
  const kernel::Kernel* kernel = nullptr;
  result::Params point;
  std::int64_t accesses = 0;
  std::map<std::string, std::int64_t> counts; ///< by event
};

/// A row of the simulated machine's file, "event 0xd0.0x81 counters=0-3 cmask=1 = loads #
/// MEM_INST_RETIRED.ALL_LOADS: retired loads", of its first PMU. A ":k" counts the kernel only.
perf_event_attr attr_of_machine(std::string event) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_RAW;
  attr.exclude_kernel = 1;
  if (event.ends_with(":k")) {
    event.resize(event.size() - 2);
    attr.exclude_kernel = 0;
    attr.exclude_user = 1;
  }
  std::ranges::replace(event, ':', '.');
  std::ifstream in(std::getenv("RECOUNT_PMU_MACHINE"));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("event ") || line.find("# " + event + ":") == line.npos) continue;
    unsigned long long code = 0, umask = 0, cmask = 0;
    std::sscanf(line.c_str(), "event %llx.%llx", &code, &umask);
    if (const auto at = line.find("cmask="); at != line.npos) cmask = std::stoull(line.substr(at + 6));
    attr.config = code | umask << 8 | cmask << 24;
    return attr;
  }
  throw std::runtime_error("no event " + event);
}

/// libpfm4's table of the rows; null on adl and n1, whose events are those of the machine's file: not every
/// libpfm4 knows them, and of a hybrid CPU, PAPI takes the efficient cores.
const event::pfm::Table* table_of_rows() {
  const std::string machine = test::machine_name();
  return machine == "adl" || machine == "n1" ? nullptr : preset::default_pmu();
}

perf_event_attr encode_event(const std::string& event) {
  return table_of_rows() != nullptr ? encode(event, Domain::user).attr : attr_of_machine(event);
}

/// Whether the kernels are executed: recount emulate --exact.
bool exact() {
  return host::this_emulation().exact;
}

/// Everything that the judging needs, recorded once.
class Recording {
public:
  Recording(const std::vector<Row>& rows, const std::vector<Mutant>& mutants)
      : context_(check::check_context()) {
    if (table_of_rows() == nullptr) { // no presets
      cpu_set_t first;                // the only CPU of the first PMU of adl
      CPU_ZERO(&first);
      CPU_SET(0, &first);
      BOOST_REQUIRE(::sched_setaffinity(0, sizeof first, &first) == 0);
      context_.presets.clear();
      for (const Row& row : rows)
        context_.presets.push_back({row.preset, row.preset});
    }
    std::set<std::string> events;
    for (const Row& row : rows)
      events.insert(row.terms.begin(), row.terms.end());
    for (const Mutant& mutant : mutants)
      events.insert(mutant.row.terms.begin(), mutant.row.terms.end());
    const std::vector<std::string> all(events.begin(), events.end());
    for (const sweep::Job& job : check::plan_check(context_, {{}, 1, {}, 1}).jobs) {
      if (std::ranges::none_of(job.metrics, [](const auto& m) { return m.starts_with("PAPI_"); })) continue;
      const kernel::Kernel& kernel = kernel::find(job.kernel);
      if (job.witness == "model") {
        const witness::Task task{"r", job.kernel, job.point, 0, "model", job.metrics};
        for (auto& o : witness::find("model").observe(kernel, nullptr, task))
          model_.push_back(std::move(o));
      } else {
        execute(kernel, job.point, all);
      }
    }
  }
  [[nodiscard]] const check::CheckContext& context() const { return context_; }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  /// Whether the emulation has a rule for each term.
  [[nodiscard]] bool has(const Row& row) const {
    return std::ranges::all_of(row.terms,
                               [&](const auto& term) { return places_.front().counts.contains(term); });
  }

  /// The verdict on a row, as `recount check` gives it to a table with this row. With noise, each event
  /// varies between executions by this share of its count, and perf and PAPI count executions of their own.
  [[nodiscard]] PresetVerdict judge(const Row& row, double noise = 0, std::uint64_t seed = 1) const {
    std::mt19937_64 random(seed);
    const int executions = noise == 0 ? 1 : default_repetitions;
    const auto* const core = table_of_rows();
    const std::string cpu = core != nullptr ? core->name : test::machine_name();
    const auto table = preset::view(preset::parse(fmt::format("CPU,{}\n{}\n", cpu, row.text())), cpu, core,
                                    PapiVersion::v7_0);
    const Preset* const loaded = table.loaded.find(row.preset);
    BOOST_REQUIRE_MESSAGE(loaded, "PAPI does not read " << row.text());
    result::Results results;
    for (const Place& place : places_)
      for (int repetition = 0; repetition < executions; ++repetition)
        for (const char* const witness : {"perf", "papi"})
          add_execution(results, place, *loaded, {witness, repetition, noise}, random);
    for (const auto& o : model_)
      if (o.metric == row.preset) results.observations.push_back(o);
    check::CheckContext context;
    const auto mine = [&](const auto& one) { return one.preset == row.preset; };
    std::ranges::copy_if(context_.proofs, std::back_inserter(context.proofs), mine);
    std::ranges::copy_if(context_.side_proofs, std::back_inserter(context.side_proofs), mine);
    std::ranges::copy_if(context_.relations, std::back_inserter(context.relations), mine);
    check::CheckPlan plan;
    plan.subjects.push_back({row.preset, row.preset, {}, weigh_terms(*loaded)});
    return check::conclude(plan, context, {}, results).verdicts.at(0);
  }

private:
  void execute(const kernel::Kernel& kernel, const result::Params& point,
               const std::vector<std::string>& events) {
    Place place{&kernel, point, 0, {}};
    try {
      const auto instance = kernel.prepare(point);
      instance->warm();
      place.accesses = instance->accesses();
      if (exact())
        static_cast<void>(test::count_all(events, encode_event, {[](void*) {}, nullptr})); // warm-up
      place.counts = test::count_all(events, encode_event, instance->region());
      for (const auto& [event, overhead] : test::count_all(events, encode_event, {[](void*) {}, nullptr}))
        place.counts.at(event) -= overhead;
      BOOST_REQUIRE((exact() || place.counts.size() == events.size()));
    } catch (const Error&) { // an instruction that this processor lacks
      return;
    }
    places_.push_back(std::move(place));
  }
  /// The factor of each event in a sum.
  static std::map<std::string, double> weigh_terms(const Preset& loaded) {
    constexpr long long many = 1'000'000;
    std::map<std::string, double> weights;
    for (const PresetNative& native : loaded.natives) {
      std::vector<long long> counts;
      for (const PresetNative& other : loaded.natives)
        counts.push_back(other.name == native.name ? many : 0);
      weights[native.name] =
          static_cast<double>(evaluate(loaded, counts, 3000, PapiVersion::v7_0).value) / many;
    }
    return weights;
  }
  /// Four processes of four executions.
  static constexpr int default_repetitions = 16;
  struct Execution {
    const char* witness;
    int repetition;
    double noise;
  };
  static void add_execution(result::Results& results, const Place& place, const Preset& loaded,
                            const Execution& by, std::mt19937_64& random) {
    std::normal_distribution<double> gauss;
    std::map<std::string, long long> drawn;
    const auto count = [&](const std::string& event) {
      const auto [at, fresh] = drawn.try_emplace(event, place.counts.at(event));
      if (fresh && by.noise != 0)
        at->second =
            std::llround(static_cast<double>(at->second) * std::max(0.0, 1 + by.noise * gauss(random)));
      return at->second;
    };
    const auto add = [&](const std::string& metric, long long value) {
      auto& o = results.observations.emplace_back();
      o.kernel = place.kernel->name();
      o.params = place.point;
      o.witness = by.witness;
      o.repetition = by.repetition;
      o.metric = metric;
      o.value = std::int64_t{value};
      o.accesses = place.accesses;
    };
    std::vector<long long> counts;
    for (const PresetNative& native : loaded.natives)
      counts.push_back(count(native.name));
    const PresetValue value = evaluate(loaded, counts, 3000, PapiVersion::v7_0);
    if (value.ending != PresetValue::Ending::value) return;
    add(loaded.name, value.value);
    for (const PresetNative& native : loaded.natives)
      add(native.name, count(native.name));
  }

  check::CheckContext context_;
  std::vector<Place> places_;
  std::vector<result::Observation> model_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// Recorded once for all cases.
struct Everything {
  std::vector<Row> rows = find_rows(std::getenv("PAPI_CSV_EVENT_FILE"));
  std::vector<Mutant> mutants = contaminated() || (exact() && from_environment("RECOUNT_WRONG_ROWS", 0) == 0)
                                    ? std::vector<Mutant>{}
                                    : Mutants(rows).all();
  Recording recording{rows, mutants};
};
const Everything& everything() {
  static const Everything all;
  return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(right_rows_agree) {
  std::vector<std::string> plausible;
  for (const Row& row : everything().rows) {
    if (!everything().recording.has(row)) {
      std::printf("no rule: %s\n", row.text().c_str());
      continue;
    }
    const PresetVerdict v = everything().recording.judge(row);
    BOOST_TEST(check::sound(v.verdict), row.text() << ": " << check::name_of(v.verdict) << ": " << v.why);
    BOOST_TEST((v.verdict != Verdict::not_counted), row.text() << ": " << v.why);
    if (v.verdict == Verdict::plausible) plausible.push_back(row.preset + ": " + v.why);
  }
  std::printf("%s: %zu right rows, %zu of them plausible only:\n", test::machine_name().c_str(),
              everything().rows.size(), plausible.size());
  for (const auto& one : plausible)
    std::printf("  %s\n", one.c_str());
  if (!contaminated() && !exact()) BOOST_TEST(plausible.size() <= max_plausible);
}

BOOST_AUTO_TEST_CASE(right_rows_are_not_called_wrong_for_noise) {
  for (const double noise : {0.01, 0.05}) {
    std::size_t unstable = 0, agrees = 0, judged = 0;
    for (int run = 1; run <= static_cast<int>(from_environment("RECOUNT_NOISY_RUNS", 1)); ++run)
      for (const Row& row : everything().rows) {
        const PresetVerdict v = everything().recording.judge(row, noise, static_cast<std::uint64_t>(run));
        unstable += v.verdict == Verdict::unstable ? 1 : 0;
        agrees += v.verdict == Verdict::agrees ? 1 : 0;
        if (v.verdict == Verdict::unstable && run == 1)
          std::printf("  noise %g: %s: %s\n", noise, row.preset.c_str(), v.why.c_str());
        ++judged;
        BOOST_TEST((check::sound(v.verdict) || v.verdict == Verdict::unstable),
                   row.text() << ": noise " << noise << ", run " << run << ": " << check::name_of(v.verdict)
                              << ": " << v.why);
      }
    std::printf("%s: noise %g: %zu right rows judged, %zu agree, %zu unstable\n",
                test::machine_name().c_str(), noise, judged, agrees, unstable);
    constexpr double some = 0.01, max_unstable = 0.2; // with noise of 1 % the default repetitions are enough
    if (noise <= some)
      BOOST_TEST(static_cast<double>(unstable) <= max_unstable * static_cast<double>(judged));
  }
}

/// A wrong factor is clear of noise of 1 %.
BOOST_AUTO_TEST_CASE(wrong_rows_are_found_under_noise) {
  if (contaminated()) return;
  for (const char* const preset : {"PAPI_TOT_INS", "PAPI_BR_INS", "PAPI_SR_INS"}) {
    const auto row = std::ranges::find(everything().rows, preset, &Row::preset);
    if (row == everything().rows.end()) continue;
    const PresetVerdict v =
        everything().recording.judge({row->preset, "DERIVED_POSTFIX", "N0|5|*|4|/|", row->terms}, 0.01);
    BOOST_TEST((v.verdict == Verdict::meaning_differs),
               preset << ": " << check::name_of(v.verdict) << ": " << v.why);
  }
}

BOOST_AUTO_TEST_CASE(wrong_rows_do_not_agree) {
  if (everything().mutants.empty()) return;
  std::map<std::string, std::vector<std::string>> survivors;
  std::map<std::string, std::pair<int, int>> by_kind; ///< found, all
  std::size_t agree = 0, plausible = 0, coarse = 0, coarse_found = 0;
  std::vector<Mutant> all;
  std::ranges::copy_if(everything().mutants, std::back_inserter(all),
                       [](const Mutant& mutant) { return everything().recording.has(mutant.row); });
  const double noise = from_environment("RECOUNT_NOISE", 0);
  for (const Mutant& mutant : all) {
    const PresetVerdict v = everything().recording.judge(mutant.row, noise);
    const bool survives = v.verdict == Verdict::agrees || v.verdict == Verdict::plausible;
    agree += v.verdict == Verdict::agrees ? 1 : 0;
    if (mutant.kind == "published") BOOST_TEST(!survives, mutant.row.text() << ": " << v.why);
    plausible += v.verdict == Verdict::plausible ? 1 : 0;
    auto& [found, of] = by_kind[mutant.kind];
    found += survives ? 0 : 1;
    ++of;
    if (std::ranges::find(fine_kinds, mutant.kind) == fine_kinds.end()) {
      ++coarse;
      coarse_found += survives ? 0U : 1U;
    }
    if (survives)
      survivors[mutant.row.preset].push_back(
          fmt::format("{} ({}): {}: {}", mutant.row.text(), mutant.kind, check::name_of(v.verdict), v.why));
  }
  for (const auto& [preset, those] : survivors)
    for (const auto& one : those)
      std::printf("survives: %s\n", one.c_str());
  for (const auto& [kind, numbers] : by_kind)
    std::printf("%-18s %3d of %3d found\n", kind.c_str(), numbers.first, numbers.second);
  const double score = 1 - static_cast<double>(agree) / static_cast<double>(all.size());
  std::printf("%s: %zu wrong rows: %zu agree, %zu are plausible, %zu are found wrong; score %.1f %%\n",
              test::machine_name().c_str(), all.size(), agree, plausible, all.size() - agree - plausible,
              100 * score);
  BOOST_TEST(all.size() >= 300U);
  BOOST_TEST(static_cast<double>(agree) <= max_agree * static_cast<double>(all.size()));
  if (noise == 0)
    BOOST_TEST(static_cast<double>(coarse_found) >= threshold_found * static_cast<double>(coarse));
}

BOOST_AUTO_TEST_CASE(the_scalars_in_vectors_of_broadwell_are_named) {
  if (test::machine_name() != "skl" || contaminated()) return;
  const PresetVerdict v = everything().recording.judge(
      {"PAPI_VEC_DP",
       "DERIVED_POSTFIX",
       "N0|N1|N2|+|+|",
       {"FP_ARITH:SCALAR_DOUBLE", "FP_ARITH:128B_PACKED_DOUBLE", "FP_ARITH:256B_PACKED_DOUBLE"}});
  BOOST_TEST((v.verdict == Verdict::meaning_differs), v.why);
  BOOST_TEST_REQUIRE(!v.trials.front().judgement.causes.empty());
  BOOST_TEST(v.trials.front().judgement.causes.front() ==
             "without the term FP_ARITH:SCALAR_DOUBLE, all counts are the expected ones");
}

BOOST_AUTO_TEST_CASE(a_missing_part_and_a_dead_term_are_named) {
  if (test::machine_name() != "skl" || contaminated()) return;
  const PresetVerdict part =
      everything().recording.judge({"PAPI_VEC_DP", "NOT_DERIVED", {}, {"FP_ARITH:128B_PACKED_DOUBLE"}});
  BOOST_TEST((part.verdict == Verdict::meaning_differs), part.why);
  BOOST_TEST(has(part.why, "misses a part: 0 in float"), part.why);
  const PresetVerdict dead = everything().recording.judge(
      {"PAPI_BR_TKN", "DERIVED_SUB", {}, {"BR_INST_RETIRED:CONDITIONAL", "FP_ARITH:512B_PACKED_DOUBLE"}});
  BOOST_TEST((dead.verdict == Verdict::meaning_differs), dead.why);
  BOOST_TEST(has(fmt::format("{}", fmt::join(dead.trials.front().judgement.causes, ";")),
                 "the term FP_ARITH:512B_PACKED_DOUBLE counts 0 in every kernel"));
}

BOOST_AUTO_TEST_SUITE_END()
