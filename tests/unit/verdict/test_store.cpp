// Verdicts in a file: merged by machine, read with bounds, found by name and by encoding.
#include "process/temporary_folder.hpp"
#include "verdict/verdict_store.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

using namespace recount;
using namespace recount::verdict;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(verdict_store)

namespace {

MachineKey machine(const std::string& microcode = "0x1") {
  return {"GenuineIntel-6-94-3", microcode, "Linux 6.1", "KVM", "7.0.0.0", "00ff"};
}

Entry entry(const std::string& name, const std::string& verdict, const std::string& mark = {}) {
  return {name, verdict, mark, {}, 1'700'000'000};
}

Event raw(std::uint64_t config) {
  Event event;
  event.attr.type = PERF_TYPE_RAW;
  event.attr.config = config;
  return event;
}

/// A folder of its own as XDG_STATE_HOME.
struct State {
  State() { ::setenv("XDG_STATE_HOME", folder.c_str(), 1); }
  ~State() { ::unsetenv("XDG_STATE_HOME"); }
  [[nodiscard]] fs::path file() const { return folder / "recount" / "verdicts.json"; }
  void put(const std::string& text) const {
    fs::create_directories(file().parent_path());
    std::ofstream(file(), std::ios::binary) << text;
  }
  process::TemporaryFolder temporary{"recount-verdicts"};
  fs::path folder = temporary.path();
};

std::string cause_of(const std::string& text) {
  try {
    static_cast<void>(parse(text, "f"));
  } catch (const Error& error) {
    return error.problem().cause;
  }
  return {};
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  Records records;
  merge(records, machine(),
        {entry("PAPI_TOT_INS", "agrees"), entry("PAPI_BR_CN", "dead", "dead on this machine")});
  const auto again = parse(to_text(records), "f");
  BOOST_TEST_REQUIRE(again.size() == 1U);
  BOOST_TEST((again[0].machine == machine()));
  BOOST_TEST_REQUIRE(again[0].entries.size() == 2U);
  BOOST_TEST(again[0].entries[1].name == "PAPI_BR_CN");
  BOOST_TEST(again[0].entries[1].verdict == "dead");
  BOOST_TEST(again[0].entries[1].mark == "dead on this machine");
  BOOST_TEST(again[0].entries[1].checked == 1'700'000'000);
  BOOST_TEST(again[0].entries[0].mark.empty());
}

BOOST_AUTO_TEST_CASE(a_partial_check_replaces_its_own_presets_only) {
  Records records;
  merge(records, machine(), {entry("A", "dead", "dead"), entry("B", "agrees")});
  merge(records, machine("0x2"), {entry("A", "agrees")});
  merge(records, machine(), {entry("A", "agrees")});
  BOOST_TEST_REQUIRE(records.size() == 2U);
  BOOST_TEST((records[0].machine == machine())); // the latest
  BOOST_TEST_REQUIRE(records[0].entries.size() == 2U);
  const Marks marks(records[0].entries);
  BOOST_TEST(marks.find("A").empty());
}

BOOST_AUTO_TEST_CASE(old_machines_are_forgotten) {
  Records records;
  for (int i = 0; i < 100; ++i)
    merge(records, machine(std::to_string(i)), {entry("A", "agrees")});
  BOOST_TEST(records.size() == 32U);
  BOOST_TEST(records.front().machine.microcode == "99");
  BOOST_TEST(records.back().machine.microcode == "68");
}

BOOST_AUTO_TEST_CASE(marks_are_found_by_name_and_by_encoding) {
  Entry event = entry("perf::CACHE-REFERENCES", "dead", "dead on this machine");
  event.encoding = format_encoding(std::vector{raw(0x4f2e)});
  const Marks marks({entry("PAPI_L1_DCM", "meaning differs", "differs"), event});
  BOOST_TEST(marks.find("PAPI_L1_DCM") == "differs");
  BOOST_TEST(marks.find("l1_dcm") == "differs");
  BOOST_TEST(marks.find("L1_DC").empty());
  BOOST_TEST(marks.find("PAPI_PAPI_L1_DCM").empty());
  BOOST_TEST(marks.find("LONGEST_LAT_CACHE:REFERENCE", std::vector{raw(0x4f2e)}) == "dead on this machine");
  BOOST_TEST(marks.find("LONGEST_LAT_CACHE:MISS", std::vector{raw(0x412e)}).empty());
  BOOST_TEST(marks.find("nothing", {}).empty());
  const Event write = encode("mem:0x1000:w"), access = encode("mem:0x1000:rw");
  BOOST_TEST(format_encoding(std::vector{write}) != format_encoding(std::vector{access}));
  BOOST_TEST(Marks().find("PAPI_L1_DCM").empty());
}

BOOST_AUTO_TEST_CASE(a_file_that_is_damaged_is_refused_with_the_reason) {
  const std::string machines = R"({"schema":"recount-verdicts/1","machines":)";
  BOOST_TEST(cause_of("{").find("not a JSON object") != std::string::npos);
  BOOST_TEST(cause_of("[]").find("not a JSON object") != std::string::npos);
  BOOST_TEST(cause_of(R"({"schema":"recount-verdicts/2","machines":[]})").find("schema") !=
             std::string::npos);
  BOOST_TEST(cause_of(R"({"schema":7})").find("schema") != std::string::npos);
  BOOST_TEST(cause_of(machines + "7}").find("\"machines\"") != std::string::npos);
  BOOST_TEST(cause_of(machines + "[7]}").find("object") != std::string::npos);
  BOOST_TEST(cause_of(machines + R"([{"cpu":7,"verdicts":[]}]})").find("\"cpu\"") != std::string::npos);
  BOOST_TEST(cause_of(machines + R"([{"cpu":"c"}]})").find("\"verdicts\"") != std::string::npos);
  BOOST_TEST(cause_of(machines + R"([{"verdicts":[{"mark":"m"}]}]})").find("\"name\"") != std::string::npos);
  BOOST_TEST(cause_of(machines + R"([{"verdicts":[{"name":"m","checked":1.5}]}]})").find("\"checked\"") !=
             std::string::npos);
  BOOST_TEST(
      cause_of(machines + R"([{"verdicts":[{"name":")" + std::string(400, 'n') + R"("}]}]})").find("300") !=
      std::string::npos);
  std::string many = machines + R"([{"verdicts":[)";
  for (int i = 0; i < 6000; ++i)
    many += R"({"name":"n"},)";
  many.back() = ']';
  BOOST_TEST(cause_of(many + "}]}").find("5000") != std::string::npos);
  BOOST_TEST(cause_of(machines + "[]}").empty());
}

BOOST_AUTO_TEST_CASE(controls_become_visible) {
  const auto records =
      parse("{\"schema\":\"recount-verdicts/"
            "1\",\"machines\":[{\"verdicts\":[{\"name\":\"A\",\"mark\":\"\\u001b[2Jx\\ny\"}]}]}",
            "f");
  BOOST_TEST(records[0].entries[0].mark == "\\u001b[2Jx\\u000ay");
}

BOOST_AUTO_TEST_CASE(a_file_is_made_merged_and_replaced) {
  const State state;
  BOOST_TEST(read().empty());
  store(machine(), {entry("A", "agrees")});
  store(machine("0x2"), {entry("B", "dead", "dead on this machine")});
  const auto records = read();
  BOOST_TEST_REQUIRE(records.size() == 2U);
  BOOST_TEST(records[0].machine.microcode == "0x2");
  std::size_t files = 0;
  for (const auto& file : fs::directory_iterator(state.file().parent_path()))
    files += file.exists() ? 1U : 0U;
  BOOST_TEST(files == 1U); // no temporary file is left
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_begun_anew) {
  const State state;
  state.put("not JSON");
  BOOST_CHECK_THROW(static_cast<void>(read()), Error);
  store(machine(), {entry("A", "agrees")});
  BOOST_TEST(read().size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_stops_nobody) {
  const State state;
  fs::create_directories(state.file().parent_path());
  BOOST_REQUIRE(::mkfifo(state.file().c_str(), 0600) == 0);
  BOOST_CHECK_THROW(static_cast<void>(read()), Error); // and does not wait for a writer
}

BOOST_AUTO_TEST_CASE(a_failed_write_is_said_and_keeps_what_was_there) {
  const State state;
  std::ofstream(state.folder / "recount") << "a file in the way";
  BOOST_CHECK_THROW(store(machine(), {entry("A", "agrees")}), Error);
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::unsetenv("HOME");
  BOOST_TEST(!path());
  store(machine(), {entry("A", "agrees")}); // without a place for the file: no error
  BOOST_TEST(read().empty());
}

BOOST_AUTO_TEST_CASE(this_machine_is_the_same_twice_and_differs_with_its_table) {
  const State state;
  const MachineKey one = this_machine_key();
  BOOST_TEST((one == this_machine_key()));
  BOOST_TEST(!one.kernel.empty());
  const std::string table = state.folder / "t.csv";
  std::ofstream(table) << "CPU,skl\n";
  ::setenv("PAPI_CSV_EVENT_FILE", table.c_str(), 1);
  const MachineKey other = this_machine_key();
  std::ofstream(table) << "CPU,skx\n";
  const MachineKey changed = this_machine_key();
  ::unsetenv("PAPI_CSV_EVENT_FILE");
  BOOST_TEST(one.table != other.table);
  BOOST_TEST(other.table != changed.table);
}

BOOST_AUTO_TEST_SUITE_END()
