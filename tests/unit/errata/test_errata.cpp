// The table of errata: its format, and which events of which CPUs it names.
#include "count/errata/errata.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace recount;
using namespace recount::errata;

BOOST_AUTO_TEST_SUITE(errata_table)

namespace {

host::Cpu cpu(const std::string& vendor, int family, int model, int stepping = 3) {
  host::Cpu cpu;
  cpu.vendor = vendor;
  cpu.family = family;
  cpu.model = model;
  cpu.stepping = stepping;
  return cpu;
}

Event event(std::uint32_t type, std::uint64_t config) {
  Event event;
  event.attr.type = type;
  event.attr.config = config;
  return event;
}

std::string numbers(const Event& event, const host::Cpu& cpu) {
  std::string text;
  for (const auto* const one : of_event(event, cpu))
    text += (text.empty() ? "" : "; ") + one->number;
  return text;
}

const std::string row = "V 6 1,3..5 2..3 | p q | c0.01 d0 | E1 | too much | 4.1 | S\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_row_is_read) {
  const auto all = parse("# comment\n\n" + row);
  BOOST_TEST_REQUIRE(all.size() == 1U);
  BOOST_TEST(all[0].sentence() == "erratum E1: too much; Linux 4.1 and later work around it (S)");
  BOOST_TEST((all[0].pmus == std::vector<std::string>{"p", "q"}));
  for (const int model : {1, 3, 4, 5})
    BOOST_TEST(of_cpu(cpu("V", 6, model), all).size() == 1U);
  for (const int model : {0, 2, 6})
    BOOST_TEST(of_cpu(cpu("V", 6, model), all).empty());
  BOOST_TEST(of_cpu(cpu("V", 7, 1), all).empty());
  BOOST_TEST(of_cpu(cpu("W", 6, 1), all).empty());
  BOOST_TEST(of_cpu(cpu("V", 6, 1, 4), all).empty());
  const auto concerned = [&](std::uint64_t config) {
    return of_event(event(PERF_TYPE_RAW, config), cpu("V", 6, 1), all).size();
  };
  BOOST_TEST(concerned(0x01c0) == 1U);
  BOOST_TEST(concerned(0x10001c0) == 1U); // a counter mask counts cycles of the same event
  BOOST_TEST(concerned(0x02c0) == 0U);
  BOOST_TEST(concerned(0x77d0) == 1U); // every unit mask
  BOOST_TEST(concerned(0x01c1) == 0U);
}

// From AMD's revision guides and Intel's event lists, not from the table.
BOOST_AUTO_TEST_CASE(events_and_cpus_that_the_vendors_name) {
  const auto skylake = cpu("GenuineIntel", 6, 94), rome = cpu("AuthenticAMD", 23, 49);
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0x01c4), skylake) == "SKL091");
  BOOST_TEST(numbers(event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS), skylake) == "SKL044, SKL091");
  BOOST_TEST(numbers(event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES), skylake) == "SKL057");
  BOOST_TEST(numbers(event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), skylake).empty());
  BOOST_TEST(numbers(event(PERF_TYPE_SOFTWARE, 0xc0), skylake).empty());
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0x0151), skylake).empty());
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0xc0), rome) == "1291");
  BOOST_TEST(numbers(event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS), rome) == "1291");
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0x1000000c0), rome).empty()); // event 0x1c0
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0xc0), cpu("AuthenticAMD", 25, 17)).empty());
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0x81), cpu("AuthenticAMD", 23, 1)) == "PMCx080, PMCx081");
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0x81d0), cpu("GenuineIntel", 6, 42)) == "BJ122");
  BOOST_TEST(numbers(event(PERF_TYPE_RAW, 0x81d0), cpu("GenuineIntel", 6, 60)) == "HSD29, HSM30");
}

BOOST_AUTO_TEST_CASE(every_row_cites_a_source_that_can_be_read) {
  BOOST_TEST(known().size() > 20U);
  for (const Erratum& erratum : known())
    BOOST_TEST((erratum.source.find("github.com/") != std::string::npos ||
                erratum.source.find("lore.kernel.org/") != std::string::npos ||
                erratum.source.find("lkml.iu.edu/") != std::string::npos),
               erratum.number);
}

BOOST_AUTO_TEST_SUITE_END()
