// Private tables. PAPI reads them once, when it starts, so this program never starts PAPI in its own process:
// each case does so in a forked child.
#include "../papi/no_papi.hpp"
#include "../papi/region.hpp"
#include "../papi/user_events.hpp"
#include "base/process/child.hpp"
#include "count/papi/library.hpp"
#include "skip.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <papi.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace recount;
using test::Pages;

BOOST_AUTO_TEST_SUITE(table)

namespace {

const papi::Inventory& here() {
  static const papi::Inventory found = papi::inventory();
  return found;
}

/// A table file that the environment names for as long as it lives.
class Table {
public:
  Table(const std::string& rows, const char* variable = "PAPI_CSV_EVENT_FILE") : variable_(variable) {
    const int fd = ::mkstemp(path_.data());
    BOOST_TEST_REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(path_) << "CPU," << here().core_pmu << "\n" << rows;
    ::setenv(variable_, path_.c_str(), 1);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() {
    ::unsetenv(variable_);
    ::unlink(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  const char* variable_;
  std::string path_ = "/tmp/recount-table-XXXXXX";
};

/// What `body` returns in a child, or the message of the Error it threw; a crash is a failed check.
std::string in_child(const std::function<std::string()>& body) {
  const auto child = process::in_fork(
      [&](int fd) {
        std::string text;
        try {
          text = body();
        } catch (const Error& e) {
          text = e.what();
        }
        return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
      },
      std::chrono::seconds(60));
  BOOST_TEST(child.exit.ok(), process::describe(child.exit) << ": " << child.err);
  return child.out;
}

/// The values of the presets over a region of so many page faults, separated by blanks.
std::string count(const std::vector<std::string>& names, std::size_t pages) {
  return in_child([&] {
    PapiSet set(names);
    std::vector<long long> values(names.size());
    for (int round = 0; round < 2; ++round) { // the first round warms the code
      const Pages fresh(pages);
      set.start();
      fresh.touch();
      set.stop(values);
    }
    std::ostringstream out;
    for (const auto value : values)
      out << value << ' ';
    return out.str();
  });
}

bool no_core_pmu() {
  const std::string why = here().core_pmu.empty()
                              ? "libpfm4 does not know this CPU, so no table can have rows for it"
                              : test::no_papi();
  if (!why.empty()) test::skip(why);
  return !why.empty();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string pf = "perf::PAGE-FAULTS", mf = "perf::MINOR-FAULTS";
const std::string good = "PRESET,PAPI_TLB_DM,NOT_DERIVED," + pf + "\n";
} // namespace

BOOST_AUTO_TEST_CASE(derived_presets_count_real_events) {
  if (no_core_pmu()) return;
  const Table table(good + "PRESET,PAPI_TLB_IM,DERIVED_ADD," + pf + "," + mf + "\n" +
                    "PRESET,PAPI_TLB_TL,DERIVED_SUB," + pf + "," + mf + "\n" +
                    "PRESET,PAPI_L1_DCM,DERIVED_POSTFIX,N0|3|*|N1|+|," + pf + "," + mf + "\n");
  BOOST_TEST(count({"PAPI_TLB_DM"}, 321) == "321 ");
  BOOST_TEST(count({"PAPI_TLB_IM"}, 321) == "642 ");
  BOOST_TEST(count({"PAPI_TLB_TL"}, 321) == "0 ");
  BOOST_TEST(count({"PAPI_L1_DCM"}, 321) == "1284 ");
  BOOST_TEST(count({"PAPI_TLB_DM", "perf::CONTEXT-SWITCHES", "PAPI_TLB_IM"}, 50) == "50 0 100 ");
}

BOOST_AUTO_TEST_CASE(a_user_event_counts) {
  if (no_core_pmu() || test::no_user_events()) return;
  const Table table("EVENT,MY_FAULTS,DERIVED_ADD," + pf + "," + mf + "\n", "PAPI_USER_EVENTS_FILE");
  BOOST_TEST(count({"MY_FAULTS"}, 30) == "60 ");
}

BOOST_AUTO_TEST_CASE(a_preset_follows_the_domain_of_its_set) {
  if (no_core_pmu()) return;
  const Table table("PRESET,PAPI_TLB_DM,NOT_DERIVED,perf::CONTEXT-SWITCHES\n");
  const auto switched = [](Domain domain) {
    return in_child([=] {
      PapiSet set({"PAPI_TLB_DM"}, domain);
      set.start();
      test::sleep_often(5);
      return set.stop()[0] > 0 ? "some" : "none";
    });
  };
  BOOST_TEST(switched(Domain::user) == "none");
  BOOST_TEST(switched(Domain::all) == "some");
  BOOST_TEST(has(in_child([] { return PapiSet({"PAPI_TLB_DM:k"}), ""; }), "PAPI_TLB_DM:k"));
}

BOOST_AUTO_TEST_CASE(a_table_that_crashes_papi_is_survived_and_named) {
  if (no_core_pmu()) return;
  std::vector<std::string> rows{"PRESET,PAPI_TLB_IM,NONSENSE,perf::PAGE-FAULTS\n"};
  if (PAPI_get_opt(PAPI_LIB_VERSION, nullptr) < PAPI_VERSION_NUMBER(7, 2, 0, 0)) // 7.2 survives this one
    rows.emplace_back("PRESET,PAPI_TLB_IM,DERIVED_ADD,perf::PAGE-FAULTS,perf::NO-SUCH-EVENT\n");
  for (const std::string& row : rows) {
    const Table table(good + row);
    const std::string said = in_child([] { return papi::initialise(), "started"; });
    BOOST_TEST(has(said, table.path()), said);
    BOOST_TEST(has(said, "killed by signal"), said);
    BOOST_TEST(has(said, "PAPI_CSV_EVENT_FILE = "), said);
    if (has(row, "NO-SUCH")) BOOST_TEST(has(said, "at PAPI_TLB_IM"), said);
    try {
      (void)papi::inventory();
      BOOST_ERROR("the inventory found nothing wrong with " << row);
    } catch (const Error& e) {
      BOOST_TEST(has(e.what(), table.path()), e.what());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_formula_that_aborts_when_read_is_survived_and_named) {
  if (no_core_pmu()) return;
  const Table table(good + "PRESET,PAPI_TLB_IM,DERIVED_POSTFIX,N0|N12|+|," + pf + "\n");
  BOOST_TEST(count({"PAPI_TLB_DM"}, 10) == "10 "); // the others are as good as ever
  const std::string said = in_child([] { return PapiSet({"PAPI_TLB_IM"}), "made"; });
  BOOST_TEST(has(said, "crashes while counting PAPI_TLB_IM"), said);
  BOOST_TEST(has(said, "killed by signal"), said);
  // Also while another set of the thread runs, and without disturbing that one.
  const std::string beside = in_child([] {
    PapiSet running({pf});
    const Pages fresh(500);
    running.start();
    std::string text = "nothing";
    try {
      PapiSet bad({"PAPI_TLB_IM"});
    } catch (const Error& e) {
      text = e.what();
    }
    fresh.touch();
    return text + (running.stop()[0] >= 500 ? " -- counted on" : " -- lost counts");
  });
  BOOST_TEST(has(beside, "killed by signal"), beside);
  BOOST_TEST(has(beside, "counted on"), beside);
}

BOOST_AUTO_TEST_CASE(the_inventory_tries_each_preset) {
  if (no_core_pmu()) return;
  const Table table(good + "PRESET,PAPI_TLB_IM,DERIVED_POSTFIX,N0|N12|+|," + pf + "\n" +
                    "PRESET,PAPI_TLB_TL,DERIVED_ADD," + pf + "," + mf + "\n");
  const auto found = papi::inventory();
  BOOST_TEST(found.table == table.path());
  BOOST_TEST_REQUIRE(found.presets.size() == 3U);
  BOOST_TEST(found.presets_counting() == 2);
  for (const auto& preset : found.presets) {
    BOOST_TEST(preset.counts == (preset.name != "PAPI_TLB_IM"), preset.name << ": " << preset.reason.cause);
    if (!preset.counts) BOOST_TEST(has(preset.reason.cause, "killed by signal"), preset.reason.cause);
  }
  BOOST_TEST(found.reasons.empty());
}

BOOST_AUTO_TEST_CASE(an_unreadable_table_is_an_error) {
  ::setenv("PAPI_CSV_EVENT_FILE", "/nonexistent/table.csv", 1);
  const std::string said = in_child([] { return PapiSet({pf}), "made"; });
  BOOST_TEST(has(said, "/nonexistent/table.csv: cannot be read: No such file"), said);
  BOOST_TEST(has(said, "unset PAPI_CSV_EVENT_FILE"), said);
  BOOST_TEST(papi::warnings().size() == 1U);
  ::setenv("PAPI_CSV_EVENT_FILE", "/tmp", 1); // opens, but a folder cannot be read
  BOOST_TEST(has(in_child([] { return PapiSet({pf}), "made"; }), "Is a directory"));
  ::unsetenv("PAPI_CSV_EVENT_FILE");
}

BOOST_AUTO_TEST_CASE(the_old_variable_is_warned_of) {
  BOOST_TEST(papi::warnings().empty());
  ::setenv("PAPI_PERFMON_EVENT_FILE", "/tmp/table.csv", 1);
  BOOST_TEST_REQUIRE(papi::warnings().size() == 1U);
  BOOST_TEST(has(papi::warnings()[0], "PAPI_CSV_EVENT_FILE"));
  ::unsetenv("PAPI_PERFMON_EVENT_FILE");
}

BOOST_AUTO_TEST_CASE(the_inventory_of_this_machine_is_consistent) {
  const auto& found = here();
  BOOST_TEST(has(found.version, "."));
  BOOST_TEST(found.presets_known > 90);
  BOOST_TEST(!found.components.empty());
  BOOST_TEST(found.software_events == test::no_papi().empty(), test::no_papi());
  BOOST_TEST(found.presets_counting() <= static_cast<int>(found.presets.size()));
  BOOST_TEST((found.presets_counting() == 0) == !found.reasons.empty());
  for (const auto& preset : found.presets)
    BOOST_TEST(preset.counts == preset.reason.empty(), preset.name << ": " << preset.reason.cause);
  for (const auto& reason : found.reasons)
    BOOST_TEST_MESSAGE(reason.cause);
}

BOOST_AUTO_TEST_CASE(two_empty_claims_give_two_reasons) {
  if (no_core_pmu()) return;
  const Table table(""); // a table without rows
  const auto found = papi::inventory();
  BOOST_TEST(found.presets.empty());
  BOOST_TEST_REQUIRE(!found.reasons.empty());
  BOOST_TEST(has(found.reasons.back().cause, table.path()));
  BOOST_TEST(has(found.reasons.back().cause, found.core_pmu));
}

BOOST_AUTO_TEST_SUITE_END()
