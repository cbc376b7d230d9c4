#include "count/event/encode.hpp"
#include "count/event/pfm.hpp"
#include "count/event/sysfs.hpp"
#include "skip.hpp"
#include "tree.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <tuple>

using namespace recount;

BOOST_AUTO_TEST_SUITE(encoding)

namespace {

std::string message(const std::string& name, const std::vector<host::Pmu>& pmus = {}) {
  try {
    (void)event::encode_over(name, Domain::all, pmus);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<host::Pmu> hybrid() {
  SysfsTree tree;
  tree.file("cpu_core/type", "4").file("cpu_core/cpus", "0-15").file("cpu_core/format/event", "config:0-7");
  tree.file("cpu_atom/type", "10").file("cpu_atom/cpus", "16-23").file("cpu_atom/format/event", "config:0-7");
  tree.file("cpu_atom/events/topdown", "event=0x74").file("software/type", "1");
  return tree.pmus();
}

} // namespace

BOOST_AUTO_TEST_CASE(software_events) {
  const Event event = encode("perf::PAGE-FAULTS");
  BOOST_TEST(event.attr.type == unsigned{PERF_TYPE_SOFTWARE});
  BOOST_TEST(event.attr.config == unsigned{PERF_COUNT_SW_PAGE_FAULTS});
  BOOST_TEST(event.pmu == "perf");
  BOOST_TEST(event.present);
  BOOST_TEST((domain(event) == Domain::all));
  BOOST_TEST(encode("page-faults").attr.config == event.attr.config);
  BOOST_TEST((domain(encode("perf::PAGE-FAULTS", Domain::user)) == Domain::user));
  BOOST_TEST((domain(encode("perf::PAGE-FAULTS:k", Domain::user)) == Domain::kernel));
  BOOST_TEST((domain(encode("perf::PAGE-FAULTS:uk", Domain::user)) == Domain::all));
  BOOST_TEST(encode("perf::PAGE-FAULTS:u=1").domain_given);
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(tables_of_other_cpus_encode_and_say_so) {
  const Event miss = encode("skl::L1D:REPLACEMENT");
  BOOST_TEST(miss.attr.type == unsigned{PERF_TYPE_RAW});
  BOOST_TEST(miss.attr.config == 0x151U);
  BOOST_TEST(miss.pmu == "skl");
  // Two machines cannot be this one at once.
  BOOST_TEST((!miss.present || !encode("amd64_k7::RETIRED_INSTRUCTIONS").present));
}

namespace {

using Code = std::tuple<const char*, const char*, std::uint64_t>; // table, event, config

void check_codes(std::initializer_list<Code> rows) {
  for (const auto& [table, name, config] : rows) {
    if (std::ranges::count(event::pfm::tables(), table, &event::pfm::Table::name) == 0)
      return test::skip(std::string("libpfm4 has no table ") + table);
    BOOST_TEST(encode(name).attr.config == config, name);
  }
}

} // namespace

// Intel's event lists (github.com/intel/perfmon); fixed event constraints of arch/x86/events/intel/core.c.
BOOST_AUTO_TEST_CASE(events_of_fixed_counters_have_the_code_that_is_counted) {
  check_codes({{"spr", "spr::CPU_CLK_UNHALTED:THREAD", 0x3c},
               {"spr", "spr::cpu_clk_unhalted.thread:u", 0x3c},
               {"spr", "spr::INST_RETIRED:ANY", 0xc0},
               {"spr", "spr::INST_RETIRED:PREC_DIST", 0x100}, // Linux has it on fixed counter 0 by this code
               {"spr", "spr::TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4},
               {"spr", "spr::TOPDOWN:SLOTS", 0x400},
               {"icl", "icl::INST_RETIRED:ANY", 0xc0},
               {"glm", "glm::CPU_CLK_UNHALTED:CORE", 0x3c},
               {"glm", "glm::CPU_CLK_UNHALTED:CORE_P", 0x3c},
               {"skl", "skl::INST_RETIRED:PREC_DIST", 0x1c0},
               {"wsm", "wsm::INST_RETIRED:ANY_P", 0x1c0}});
}

BOOST_AUTO_TEST_CASE(events_of_newer_cpus_have_the_code_that_is_counted) {
  check_codes({{"adl_glc", "adl_glc::INST_RETIRED:ANY", 0xc0},
               {"adl_glc", "adl_glc::INST_RETIRED:PREC_DIST", 0x100},
               {"adl_glc", "adl_glc::CPU_CLK_UNHALTED:THREAD", 0x3c},
               {"adl_glc", "adl_glc::CPU_CLK_UNHALTED:ONE_THREAD_ACTIVE", 0x23c},
               {"adl_glc", "adl_glc::CPU_CLK_UNHALTED:DISTRIBUTED", 0x2ec},
               {"adl_glc", "adl_glc::CPU_CLK_UNHALTED:REF_TSC", 0x300},
               {"adl_glc", "adl_glc::CPU_CLK_UNHALTED:PAUSE_INST", 0x10440ec},
               {"adl_grt", "adl_grt::INST_RETIRED:ANY", 0xc0},
               {"adl_grt", "adl_grt::CPU_CLK_UNHALTED:CORE", 0x3c},
               {"emr", "emr::INST_RETIRED:ANY", 0xc0},
               {"gnr", "gnr::INST_RETIRED:ANY", 0xc0},
               {"gnr", "gnr::TOPDOWN:SLOTS", 0x400},
               {"gnr", "gnr::TOPDOWN:BAD_SPEC_SLOTS", 0x4a4}});
}

BOOST_AUTO_TEST_CASE(the_environment_of_children_is_left_alone) {
  (void)encode("skl::L1D:REPLACEMENT");
  BOOST_TEST(std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr);
}

BOOST_AUTO_TEST_CASE(mistyped_names) {
  BOOST_TEST(holds(message("skl::L1D:REPLACMENT"), "did you mean skl::L1D:REPLACEMENT?"));
  BOOST_TEST(holds(message("skl::INST_RETIERD:ANY_P"), "skl::INST_RETIRED"));
  BOOST_TEST(holds(message("slk::L1D:REPLACEMENT"), "skl::L1D:REPLACEMENT"));
}
#endif

BOOST_AUTO_TEST_CASE(mistyped_generic_names) {
  BOOST_TEST(holds(message("perf::PAGE-FALUTS"), "did you mean perf::PAGE-FAULTS"));
  BOOST_TEST(holds(message("PAGE-FALUTS"), "PAGE-FAULTS"));
  BOOST_TEST(holds(message("perf:PAGE-FAULTS"), "did you mean perf::PAGE-FAULTS?"));
  BOOST_TEST(holds(message("perf:PAGE-FALUTS"), "did you mean perf::PAGE-FAULTS"));
  BOOST_TEST(holds(message("no-such-event-at-all"), "recount events PATTERN"));
  BOOST_TEST(holds(message(""), "is empty"));
  SysfsTree tree;
  tree.file("msr/type", "9").file("msr/events/aperf", "event=1").file("msr/format/event", "config:0-63");
  BOOST_TEST(holds(message("aper", tree.pmus()), "did you mean msr/aperf/?"));
}

BOOST_AUTO_TEST_CASE(a_hybrid_cpu_counts_generic_events_apart) {
  const auto pmus = hybrid();
  const auto events = event::encode_each_over("perf::INSTRUCTIONS:u", Domain::all, pmus);
  BOOST_TEST_REQUIRE(events.size() == 2U);
  BOOST_TEST(events[0].name == "cpu_atom/INSTRUCTIONS/:u");
  BOOST_TEST(events[0].attr.type == unsigned{PERF_TYPE_HARDWARE});
  BOOST_TEST(events[0].attr.config == (10ULL << 32 | PERF_COUNT_HW_INSTRUCTIONS));
  BOOST_TEST(events[1].pmu == "cpu_core");
  BOOST_TEST(events[1].attr.config == (4ULL << 32 | PERF_COUNT_HW_INSTRUCTIONS));
  BOOST_TEST((domain(events[1]) == Domain::user));
  BOOST_TEST(holds(message("perf::INSTRUCTIONS", pmus), "cpu_atom/INSTRUCTIONS/ or cpu_core/INSTRUCTIONS/"));
}

BOOST_AUTO_TEST_CASE(the_name_of_each_kind_of_core_encodes_to_the_same) {
  const auto pmus = hybrid();
  for (const char* name :
       {"perf::INSTRUCTIONS", "perf::L1-DCACHE-LOADS:u", "perf::PERF_COUNT_HW_CACHE_L1D:READ:ACCESS"})
    for (const Event& one : event::encode_each_over(name, Domain::all, pmus)) {
      const Event again = event::encode_over(one.name, Domain::all, pmus);
      BOOST_TEST(again.attr.type == one.attr.type);
      BOOST_TEST(again.attr.config == one.attr.config);
      BOOST_TEST((domain(again) == domain(one)));
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_generic_event_stays_one) {
  const auto pmus = hybrid();
  BOOST_TEST(event::encode_each_over("perf::PAGE-FAULTS", Domain::all, pmus).size() == 1U);
  BOOST_TEST(event::encode_each_over("cpu_atom/topdown/", Domain::all, pmus).size() == 1U);
  BOOST_TEST(event::encode_each_over("mem:0x1000", Domain::all, pmus).size() == 1U);
  BOOST_TEST(event::encode_each_over("perf::INSTRUCTIONS", Domain::all, {}).size() == 1U);
}

BOOST_AUTO_TEST_CASE(names_of_other_kinds_say_where_they_belong) {
  const auto why = [](const std::string& name) {
    try {
      (void)encode(name);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  BOOST_TEST(why("PAPI_L1_DCM").find("PAPI makes of events") != std::string::npos, why("PAPI_L1_DCM"));
  BOOST_TEST(why("PAPI_L1_DCM").find("PapiSet") != std::string::npos, why("PAPI_L1_DCM"));
  // Of AMD's Bulldozer and Intel's Sandy Bridge alone: one of them is another machine's.
  for (const auto& [name, cpu] : {std::pair("RETIRED_INDIRECT_BRANCH_INFO", "AMD64"),
                                  std::pair("L1D_BLOCKS:BANK_CONFLICT_CYCLES", "Intel Sandy Bridge")}) {
    const std::string text = why(name);
    if (text == "no error") continue;
    BOOST_TEST(text.find("no such event on this CPU") != std::string::npos, text);
    BOOST_TEST(text.find(cpu) != std::string::npos, text);
    BOOST_TEST(text.find("--events-file") != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
