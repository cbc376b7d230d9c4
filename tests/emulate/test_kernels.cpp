// What recount's kernels execute, decoded under recount emulate --exact, against their expected counts. The
// machine is presets.pmu, whose events are presets; kernels know nothing of its decoder.
#include "kernel/kernel.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <linux/perf_event.h>
#include <map>
#include <set>
#include <string>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

using namespace recount;
using kernel::Kernel;
using kernel::Params;

namespace {

/// Presets and their codes, from the rows "event CODE.0x00 = FORMULA # PRESET" of the machine.
std::map<std::string, std::uint64_t> presets_of_machine() {
  std::map<std::string, std::uint64_t> all;
  const char* const name = std::getenv("RECOUNT_PMU_MACHINE");
  std::ifstream file(name != nullptr ? name : "");
  for (std::string line; std::getline(file, line);) {
    const auto preset = line.find("# PAPI_");
    if (!line.starts_with("event 0x") || preset == line.npos) continue;
    std::uint64_t code = 0;
    std::from_chars(line.data() + 8, line.data() + 10, code, 16);
    all.emplace(line.substr(preset + 2), code);
  }
  return all;
}

/// One instruction, a return, whatever the optimisation.
__attribute__((naked)) void return_only(void* /*context*/) {
  asm("ret");
}

/// As many presets as fit on the counters.
class PresetGroup {
public:
  static constexpr std::size_t most = 24;
  using Counts = std::map<std::string, double>;

  void add(const std::string& name, std::uint64_t code) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_RAW;
    attr.config = code;
    attr.disabled = fds_.empty() ? 1 : 0;
    attr.exclude_kernel = 1;
    attr.read_format = PERF_FORMAT_GROUP;
    const long fd = ::syscall(SYS_perf_event_open, &attr, 0, -1, fds_.empty() ? -1 : fds_.front(), 0);
    BOOST_REQUIRE_MESSAGE(fd >= 0, name << " cannot be opened");
    fds_.push_back(static_cast<int>(fd));
    names_.push_back(name);
  }
  [[nodiscard]] bool full() const { return fds_.size() == most; }

  /// Of the region alone: a return is counted in the same way, and subtracted.
  void count(const kernel::Region& region, Counts& counts) const {
    const auto empty = read({return_only, nullptr}), all = read(region);
    for (std::size_t i = 0; i < names_.size(); ++i)
      counts[names_[i]] = static_cast<double>(all[i]) - static_cast<double>(empty[i]);
  }

private:
  [[nodiscard]] std::vector<std::uint64_t> read(const kernel::Region& region) const {
    ::ioctl(fds_.front(), PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
    ::ioctl(fds_.front(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    region();
    ::ioctl(fds_.front(), PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    std::vector<std::uint64_t> values(fds_.size() + 1);
    const auto bytes = static_cast<ssize_t>(values.size() * sizeof values[0]);
    BOOST_REQUIRE(::read(fds_.front(), values.data(), values.size() * sizeof values[0]) == bytes);
    values.erase(values.begin());
    return values;
  }
  std::vector<int> fds_;
  std::vector<std::string> names_;
};

/// Counts of all presets of the machine, in as many executions as it takes.
PresetGroup::Counts executed(const kernel::Region& region) {
  static const std::vector<PresetGroup> groups = [] {
    std::vector<PresetGroup> all(1);
    for (const auto& [name, code] : presets_of_machine()) {
      if (all.back().full()) all.emplace_back();
      all.back().add(name, code);
    }
    return all;
  }();
  PresetGroup::Counts counts;
  for (const PresetGroup& group : groups)
    group.count(region, counts);
  for (const char* const name : {"PAPI_TOT_INS", "PAPI_LD_INS", "PAPI_LST_INS", "PAPI_BR_INS", "PAPI_BR_UCN",
                                 "PAPI_L1_DCA", "PAPI_L1_DCR"})
    ++counts[name]; // the return that was subtracted
  return counts;
}

/// The decoder takes lea as integer arithmetic; the kernels, which use it for addresses, do not.
bool defined_otherwise(const std::string& preset, const Kernel& kernel) {
  return kernel.name() == "branch" && preset == "PAPI_INT_INS";
}

/// Stray misses of the counting code itself, where misses are expected in a range.
constexpr double stray = 64;

/// Compares all presets of the machine that the kernel states at the point; returns how many exactly.
int compare(const Kernel& kernel, const Params& point) {
  const auto instance = kernel.prepare(point);
  instance->warm();
  const auto counted = executed(instance->region());
  int exact = 0;
  BOOST_TEST_CONTEXT(kernel.name() << " " << kernel::describe(point)) {
    for (const auto& expected : kernel.expected(point)) {
      const auto found = counted.find(expected.metric);
      if (found == counted.end() || defined_otherwise(expected.metric, kernel)) continue;
      const bool known = expected.below + expected.above == 0;
      exact += known ? 1 : 0;
      const double margin = known ? 0 : stray;
      BOOST_TEST(found->second >= expected.value - expected.below - margin,
                 expected.metric << ": executed " << found->second << ", expected " << expected.value);
      BOOST_TEST(found->second <= expected.value + expected.above + margin,
                 expected.metric << ": executed " << found->second << ", expected " << expected.value);
    }
    BOOST_TEST(exact > 0);
  }
  return exact;
}

/// Every combination of a kernel's choices.
std::vector<Params> combinations(const Kernel& kernel, const Params& first) {
  std::vector<Params> all = {first};
  for (const auto& parameter : kernel.parameters()) {
    if (parameter.unit != kernel::Parameter::Unit::choice || first.contains(parameter.name)) continue;
    std::vector<Params> wider;
    for (const Params& point : all)
      for (const std::string& value : parameter.choices) {
        wider.push_back(point);
        wider.back()[parameter.name] = value;
      }
    all = wider;
  }
  return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(decoded_kernels)

BOOST_AUTO_TEST_CASE(every_block_executes_what_is_expected) {
  int points = 0, exact = 0;
  std::set<std::string> lacking;
  for (const Kernel* const kernel : kernel::all()) {
    const auto parameters = kernel->parameters();
    if (std::ranges::find(parameters, "turns", &kernel::Parameter::name) == parameters.end()) continue;
    for (const std::int64_t turns : {1, 40})
      for (const Params& point : combinations(*kernel, {{"turns", turns}})) {
        try {
          exact += compare(*kernel, point);
          ++points;
        } catch (const Error& error) {
          lacking.insert(error.problem().cause);
        }
      }
  }
  BOOST_TEST_MESSAGE(points << " points, " << exact << " exact counts");
  for (const std::string& reason : lacking)
    BOOST_TEST_MESSAGE("not executed: " << reason);
  BOOST_TEST(points >= 100);
}

BOOST_AUTO_TEST_CASE(scattered_accesses_and_code_made_at_run_time_do_so_too) {
  const auto word = [](const char* text) { return std::string(text); };
  constexpr std::int64_t l1 = 32768, l2 = 262144, pages = 16384, page_and_line = 4160;
  const std::pair<const char*, Params> points[] = {
      {"scatter", {{"operation", word("load")}, {"size", std::int64_t{1024}}, {"passes", std::int64_t{1}}}},
      {"scatter", {{"operation", word("store")}, {"size", std::int64_t{4096}}, {"passes", std::int64_t{3}}}},
      {"scatter", {{"size", pages * 4096}, {"stride", std::int64_t{4096}}, {"passes", std::int64_t{1}}}},
      {"code", {{"size", std::int64_t{64}}, {"passes", std::int64_t{1}}}},
      {"code", {{"fill", word("full")}, {"size", l1 / 2}, {"passes", std::int64_t{100}}}},
      {"code", {{"size", 4 * l1}, {"passes", std::int64_t{20}}, {"l1i", l1}, {"l2", l2}}},
      {"code", {{"size", 2 * l2}, {"passes", std::int64_t{4}}, {"l1i", l1}, {"l2", l2}}},
      {"code", {{"size", 16 * page_and_line}, {"stride", page_and_line}, {"passes", std::int64_t{100}}}},
      {"code", {{"size", pages * page_and_line}, {"stride", page_and_line}, {"passes", std::int64_t{1}}}}};
  for (const auto& [kernel, point] : points)
    compare(kernel::find(kernel), point);
}

BOOST_AUTO_TEST_CASE(groups_that_are_open_at_once_count_their_own_parts) {
  const auto multiply = [](int n) {
    for (int i = 0; i < n; ++i)
      asm volatile("mulsd %%xmm0, %%xmm0" ::: "xmm0");
  };
  const auto value = [](Group& group) { return group.read()[0].value.value(); };
  const std::vector<std::string> names{
      fmt::format("cpu/event={:#x}/u", presets_of_machine().at("PAPI_DP_OPS"))};
  Group one(names), two(names);
  one.start();
  multiply(1);
  two.start();
  multiply(20);
  one.stop();
  multiply(300);
  one.start();
  multiply(4000);
  two.stop();
  multiply(50000);
  BOOST_TEST(value(one) == 54021U);
  BOOST_TEST(value(two) == 4320U);
}

BOOST_AUTO_TEST_SUITE_END()
