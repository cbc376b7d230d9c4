#include "base/text.hpp"
#include "count/event/encode.hpp"
#include "count/event/event_file.hpp"
#include "count/event/sysfs.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

using namespace recount;
using event::add_events, event::parse_event_file;

BOOST_AUTO_TEST_SUITE(event_files)

namespace {

std::string read(const std::string& path) {
  const auto text = base::read_file(path);
  BOOST_TEST_REQUIRE(text.has_value(), path);
  return *text;
}

/// The PMUs of an emulated machine, as its sysfs shows them.
std::vector<host::Pmu> machine(const std::string& name) {
  std::vector<host::Pmu> pmus;
  std::istringstream lines(read(std::string(RECOUNT_MACHINES) + "/" + name + ".pmu"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, key, value;
    words >> what >> key >> value;
    if (what == "pmu") {
      pmus.emplace_back().name = key;
      pmus.back().type = static_cast<std::uint32_t>(std::stoul(value.substr(value.find('=') + 1)));
    } else if (what == "format") {
      pmus.back().formats[key] = value;
    } else if (what == "alias") {
      pmus.back().events[key] = value;
    }
  }
  BOOST_TEST_REQUIRE(!pmus.empty());
  return pmus;
}

void add_file(std::vector<host::Pmu>& pmus, const std::string& file, const std::string& core = "") {
  const std::string path = std::string(RECOUNT_EVENT_DATA) + "/" + file + ".json";
  auto events = parse_event_file(read(path), path);
  BOOST_TEST_REQUIRE(!events.empty());
  BOOST_TEST(add_events(pmus, std::move(events), core, path).empty());
}

/// TYPE:CONFIG, and the other fields that are set, as names.txt has them.
std::string encoding(const perf_event_attr& attr) {
  std::string text = fmt::format("{}:{:#x}", attr.type, attr.config);
  const auto add = [&](const char* field, std::uint64_t value, bool hex = false) {
    if (value == 0) return;
    text += fmt::format(",{}=", field) + (hex ? fmt::format("{:#x}", value) : std::to_string(value));
  };
  if (attr.type == PERF_TYPE_BREAKPOINT) {
    add("bp_type", attr.bp_type);
    add("bp_addr", attr.bp_addr, true);
    add("bp_len", attr.bp_len, true);
  } else {
    add("config1", attr.config1, true);
    add("config2", attr.config2, true);
  }
  add("pinned", attr.pinned);
  add("exclusive", attr.exclusive);
  add("exclude_user", attr.exclude_user);
  add("exclude_kernel", attr.exclude_kernel);
  add("exclude_hv", attr.exclude_hv);
  add("exclude_idle", attr.exclude_idle);
  add("precise_ip", attr.precise_ip);
  add("exclude_host", attr.exclude_host);
  return text;
}

/// The fields in one order.
std::string sorted(const std::string& text) {
  auto fields = base::split(std::string_view(text), ',');
  std::ranges::sort(fields);
  return fmt::format("{}", fmt::join(fields, ","));
}

std::string encoded(const std::string& name, const std::vector<host::Pmu>& pmus) {
  std::vector<std::string> each;
  try {
    for (const Event& event : event::encode_each_over(name, Domain::all, pmus))
      each.push_back(sorted(encoding(event.attr)));
  } catch (const Error& error) {
    return error.problem().cause;
  }
  std::ranges::sort(each);
  return fmt::format("{}", fmt::join(each, " "));
}

std::string refusal(const std::string& text) {
  try {
    (void)parse_event_file(text, "FILE");
  } catch (const Error& error) {
    return error.problem().subject + ": " + error.problem().cause;
  }
  return "taken";
}

/// The terms of the only event of a file.
std::string terms(const std::string& object) {
  const auto events = parse_event_file("[" + object + "]", "FILE");
  return events.size() == 1 ? events.front().event.terms : fmt::format("{} events", events.size());
}

} // namespace

BOOST_AUTO_TEST_CASE(names_encode_as_perf_encodes_them) {
  std::map<std::string, std::vector<host::Pmu>> machines;
  for (const char* name : {"skl", "adl", "spr", "zen4"})
    machines[name] = machine(name);
  add_file(machines["skl"], "skl");
  add_file(machines["spr"], "spr");
  add_file(machines["zen4"], "zen4");
  add_file(machines["adl"], "adl_core", "cpu_core");
  add_file(machines["adl"], "adl_atom", "cpu_atom");
  std::size_t rows = 0, equal = 0;
  std::istringstream lines(read(std::string(RECOUNT_EVENT_DATA) + "/names.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string on, name, source;
    std::vector<std::string> each;
    words >> on >> name >> source;
    for (std::string one; words >> one;)
      each.push_back(sorted(one));
    std::ranges::sort(each);
    const std::string perf = fmt::format("{}", fmt::join(each, " ")), ours = encoded(name, machines.at(on));
    ++rows;
    equal += ours == perf ? 1U : 0U;
    if (source == "differs")
      BOOST_TEST(ours != perf, on << " " << name << " does not differ any more");
    else
      BOOST_TEST(ours == perf, on << " " << name << ": " << ours << ", perf " << perf);
  }
  BOOST_TEST(rows >= 189U);
  BOOST_TEST(equal * 100 >= rows * 98);
}

BOOST_AUTO_TEST_CASE(fields_become_terms) {
  BOOST_TEST(terms(R"({"EventName": "A.B", "EventCode": "0xD1", "UMask": "0x20"})") ==
             "event=0xd1,umask=0x20");
  BOOST_TEST(terms(R"({"EventName": "A", "EventCode": "0xB7, 0xBB", "UMask": "0x01,0x02",
                       "MSRIndex": "0x1a6, 0x1a7", "MSRValue": "0x36000032b7 "})") ==
             "event=0xb7,umask=0x1,offcore_rsp=0x36000032b7");
  BOOST_TEST(terms(R"({"EventName": "A", "EventCode": 195, "CounterMask": "2", "Invert": "1",
                       "EdgeDetect": "1", "AnyThread": "1", "UMask": "0x00"})") ==
             "event=0xc3,any=0x1,cmask=0x2,edge=0x1,inv=0x1");
  BOOST_TEST(terms(R"({"EventName": "A", "ConfigCode": "0x1234"})") == "config=0x1234");
  BOOST_TEST(terms(R"({"EventName": "A", "EventCode": "0x35", "UMask": "0x04", "UMaskExt": "0x00CD42FF",
                       "PortMask": "0x01", "Filter": "na"})") == "event=0x35,ch_mask=0x1,umask=0xcd42ff04");
  BOOST_TEST(terms(R"({"EventName": "A", "EventCode": "0x2", "ExtSel": "1", "Filter": "filter_opc=0x12"})") ==
             "event=0x102,filter_opc=0x12");
  BOOST_TEST(terms(R"({"EventName": "Inst_Retired.Any", "EventCode": "0x00", "UMask": "0x01"})") ==
             "event=0xc0");
  BOOST_TEST(terms(R"({"MetricName": "A", "MetricExpr": "1"})") == "0 events");
  BOOST_TEST(terms(R"({"EventName": "A:b=c", "EventCode": "0x00"})") == "0 events");
  BOOST_TEST(terms(R"({"EventName": "", "EventCode": "0x00"})") == "0 events");
}

BOOST_AUTO_TEST_CASE(what_perf_event_has_no_term_for_is_refused) {
  auto pmus = machine("skl");
  add_events(pmus,
             parse_event_file(R"({"Events": [
      {"EventName": "A", "EventCode": "0x1", "MSRIndex": "0x3E0", "MSRValue": "0x1"},
      {"EventName": "B", "EventCode": "0x1", "Filter": "CBoFilter0[23:17]"}]})",
                              "FILE"),
             "", "FILE");
  BOOST_TEST(encoded("a", pmus) == "needs register 0x3e0, for which perf_event has no term");
  BOOST_TEST(encoded("cpu/b/", pmus) ==
             "needs a value for the filter CBoFilter0[23:17], which the file does not give as a term");
}

// The fields of perfmon, of perf and some that are unknown: what is not applied may be a description only.
BOOST_AUTO_TEST_CASE(fields_that_are_not_applied_are_refused) {
  const auto problem = [](const std::string& fields) {
    const auto events = parse_event_file(
        R"([{"EventName": "A", "EventCode": "0xB7", "UMask": "0x01", )" + fields + "}]", "FILE");
    BOOST_TEST_REQUIRE(events.size() == 1U);
    return events.front().event.problem;
  };
  // Of perfmon's CLX: FILTER_VALUE of UNC_CHA_TOR_INSERTS.IO_MISS_RDCUR; of the files of other tools.
  for (const char* field :
       {R"("FILTER_VALUE": "0x43C33")", R"("MSRValue": "0x10")", R"("Offcore": "1")", R"("InTx": 1)",
        R"("LegacyConfigCode": "0x3")", R"("Umask": "0x02")", R"("OCR": "0, 0x1")", R"("Threshold": true)",
        R"("Occupancy": 0.5)", R"("Mask": "7")", R"("MSRIndex": "0", "MSRValue": "0x1")"}) {
    const std::string why = problem(field);
    BOOST_TEST(why.ends_with(" changes the event, and recount does not know how"), field << ": " << why);
  }
  BOOST_TEST(problem(R"("Umask": "0x02")").starts_with("Umask = 0x02 "));
  for (
      const char* field :
      {R"("SampleAfterValue": "100003", "Counter": "0,1,2,3", "CounterHTOff": "3", "PEBScounters": "0")",
       R"("Offcore": "1", "MSRIndex": "0x1a6,0x1a7", "MSRValue": "0x3F804C0001")",
       R"("TakenAlone": "1", "Data_LA": "1", "ELLC": "1", "PEBS": "1", "CollectPEBSRecord": "2")",
       R"("Errata": "BDM69", "Speculative": "1", "PDISTCounter": "0,1", "Precise": "1", "PerPkg": "1")",
       R"("CounterMask": "1", "EdgeDetect": "1", "Invert": "1", "AnyThread": "1", "UMaskExt": "0x2")",
       R"("FILTER_VALUE": "0x00", "MSRValue": "0", "Offcore": "0", "Unknown": false, "New": null, "Other": "0,0")",
       R"("PublicDescription": "uops on ports 0, 1, 5", "CounterType": "PGMABLE", "ProgrammingRestriction": "None")",
       R"("Notes": ["1"], "More": {"a": 1}, "Word": "fast")"})
    BOOST_TEST(problem(field) == "", field);
  for (const char* const arm :
       {R"([{"EventName": "L1D", "ArchStdEvent": "L1D_CACHE"}])", R"([{"ArchStdEvent": "L1D_CACHE"}])"})
    BOOST_TEST(parse_event_file(arm, "FILE").at(0).event.problem ==
               "has the code of another file: ArchStdEvent = L1D_CACHE");
  const auto own = parse_event_file(R"([{"ArchStdEvent": "X", "EventCode": "7"}])", "FILE");
  BOOST_TEST(own.at(0).event.terms == "event=0x7");
}

BOOST_AUTO_TEST_CASE(units_name_pmus) {
  std::vector<host::Pmu> pmus(4);
  pmus[0].name = "cpu", pmus[0].type = 4;
  pmus[1].name = "uncore_cha_0", pmus[1].type = 20;
  pmus[2].name = "uncore_cha_11", pmus[2].type = 21;
  pmus[3].name = "uncore_chaos", pmus[3].type = 22;
  for (host::Pmu& pmu : pmus)
    pmu.formats = {{"event", "config:0-7"}, {"umask", "config:8-15"}};
  const auto absent = add_events(pmus,
                                 parse_event_file(R"([
      {"EventName": "UNC_CHA_CLOCKTICKS", "EventCode": "0x01", "Unit": "CHA"},
      {"EventName": "UNC_M_ACT", "EventCode": "0x02", "Unit": "iMC"},
      {"EventName": "core.one", "EventCode": "0x03"}])",
                                                  "FILE"),
                                 "", "FILE");
  BOOST_TEST(encoded("unc_cha_clockticks", pmus) == "20:0x1 21:0x1");
  BOOST_TEST(encoded("uncore_cha/UNC_CHA_CLOCKTICKS/", pmus) == "20:0x1 21:0x1");
  BOOST_TEST(encoded("cha/unc_cha_clockticks/", pmus) == "20:0x1 21:0x1");
  BOOST_TEST(encoded("uncore_cha_*/unc_cha_clockticks/", pmus) == "20:0x1 21:0x1");
  BOOST_TEST(encoded("Core.One:k", pmus) == "4:0x3,exclude_hv=1,exclude_user=1");
  BOOST_TEST(encoded("cpu/core.one,umask=2/", pmus) == "4:0x203");
  BOOST_TEST_REQUIRE(absent.size() == 1U);
  BOOST_TEST(absent.front().pmu == "uncore_imc");
}

BOOST_AUTO_TEST_CASE(core_types_are_named) {
  auto pmus = machine("adl");
  const auto events = parse_event_file(R"([{"EventName": "A", "EventCode": "0x1"}])", "FILE");
  BOOST_CHECK_THROW(add_events(pmus, events, "", "FILE"), Error);
  add_events(pmus, events, "cpu_atom", "FILE");
  BOOST_TEST(encoded("a", pmus) == "10:0x1");
  add_events(pmus,
             parse_event_file(R"([{"EventName": "A", "EventCode": "0x2", "Unit": "cpu_core"}])", "FILE"), "",
             "FILE");
  BOOST_TEST(encoded("a", pmus) == "10:0x1 4:0x2");
  BOOST_TEST(encoded("cpu_core/a/u", pmus) == "4:0x2,exclude_hv=1,exclude_kernel=1");
}

BOOST_AUTO_TEST_CASE(architectural_names_need_no_file) {
  const auto intel = machine("adl"), amd = machine("zen4");
  BOOST_TEST(encoded("inst_retired.any", intel) == "10:0xc0 4:0xc0");
  BOOST_TEST(encoded("CPU_CLK_UNHALTED.THREAD", intel) == "10:0x3c 4:0x3c");
  BOOST_TEST(encoded("cpu_core/cpu_clk_unhalted.ref_tsc/", intel) == "4:0x300");
  BOOST_CHECK_THROW((void)event::encode_each_over("cpu/inst_retired.any/", Domain::all, amd), Error);
}

BOOST_AUTO_TEST_CASE(malformed_files) {
  BOOST_TEST(refusal("").starts_with("FILE: "));
  BOOST_TEST(refusal("[1, ").starts_with("FILE: "));
  BOOST_TEST(refusal("\xff[]").starts_with("FILE: "));
  BOOST_TEST(refusal(std::string(200000, '[')).starts_with("FILE: "));
  BOOST_TEST(refusal(R"([{"EventName": "A", "EventCode": "zz\u001b[31m"}])") ==
             "FILE: A: EventCode = \"zz\\u001b[31m\" is not a number");
  BOOST_TEST(refusal(R"([{"EventName": "A", "UMask": "0x1ffffffffffffffff"}])").ends_with("is not a number"));
  BOOST_TEST(refusal(R"([{"EventName": "A", "UMask": ["0x1"]}])").ends_with("is not a number"));
  BOOST_TEST(refusal(R"({"Events": 5})") == "taken");
  for (const char* nothing : {"{}", "[]", "5", "null", R"([1, "a", null, []])", R"({"Events": {"a": 1}})"})
    BOOST_TEST(parse_event_file(nothing, "FILE").empty(), nothing);
  const auto events =
      parse_event_file(R"([{"EventName": "A", "BriefDescription": "a\u001b]0;b", "PEBS": "2"}])", "F");
  BOOST_TEST_REQUIRE(events.size() == 1U);
  BOOST_TEST(events.front().event.prose == "a\\u001b]0;b (must be precise)");
}

BOOST_AUTO_TEST_CASE(caches_by_the_names_of_perf) {
  BOOST_TEST(*event::hardware_cache("l1d-loads") == 0x0U);
  BOOST_TEST(*event::hardware_cache("L1-data-miss-store") == 0x10100U);
  BOOST_TEST(*event::hardware_cache("LLC") == 0x2U);
  BOOST_TEST(*event::hardware_cache("instruction-tlb-refs") == 0x4U);
  for (const char* none : {"", "l1d-", "l1dx", "l1d-loads-stores", "l1d-miss-miss", "itlb-stores",
                           "l1i-write", "btb-prefetch", "l3-loads", "l1d-loads-miss-refs", "l1d--loads"})
    BOOST_TEST(!event::hardware_cache(none).has_value(), none);
}

BOOST_AUTO_TEST_SUITE_END()
