#include "base/text.hpp"
#include "count/event/encode.hpp"
#include "count/event/sysfs.hpp"
#include "tree.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <linux/hw_breakpoint.h>

using namespace recount;

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE(patterns) {
  BOOST_TEST(base::Pattern("fault").matches("perf::PAGE-FAULTS"));
  BOOST_TEST(!base::Pattern("fault*").matches("perf::PAGE-FAULTS"));
  BOOST_TEST(base::Pattern("*fault?").matches("perf::PAGE-FAULTS"));
  BOOST_TEST(base::Pattern("[mp]age-*").matches("PAGE-FAULTS"));
  BOOST_TEST(base::Pattern("").matches("anything"));
}

BOOST_AUTO_TEST_CASE(domains_at_the_end) {
  BOOST_TEST(event::split_domain("x:y:u").name == "x:y");
  BOOST_TEST((event::split_domain("x:ku").domain == Domain::all));
  BOOST_TEST(!event::split_domain("x:y").domain.has_value());
  BOOST_TEST(event::split_domain("u").name == "u");
}

BOOST_AUTO_TEST_CASE(domains_for_libpfm) {
  BOOST_TEST(event::for_libpfm("skl::L1D:REPLACEMENT").name == "skl::L1D:REPLACEMENT");
  BOOST_TEST(!event::for_libpfm("skl::L1D:REPLACEMENT").domain_given);
  BOOST_TEST(event::for_libpfm("skl::L1D:REPLACEMENT:uk:c=1").name == "skl::L1D:REPLACEMENT:u:k:c=1");
  BOOST_TEST(event::for_libpfm("x:u=1").name == "x:u=1");
  for (const char* given : {"x:u", "x:k", "x:uk", "x:u=1", "x:c=2:k=0", "x:h"})
    BOOST_TEST(event::for_libpfm(given).domain_given);
  BOOST_TEST(!event::for_libpfm("u::k").domain_given); // a table and an event, whatever they are called
}

namespace {

/// A Skylake as sysfs shows it (tests/pmu/machines/skl.pmu), with the top-down events of newer PMUs.
void fill(SysfsTree& tree) {
  tree.file("cpu/type", "4")
      .file("cpu/format/event", "config:0-7")
      .file("cpu/format/umask", "config:8-15")
      .file("cpu/format/edge", "config:18")
      .file("cpu/format/inv", "config:23")
      .file("cpu/format/cmask", "config:24-31")
      .file("cpu/format/ldlat", "config1:0-15")
      .file("cpu/events/cpu-cycles", "event=0x3c")
      .file("cpu/events/instructions", "event=0xc0")
      .file("cpu/events/branch-misses", "event=0xc5")
      .file("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3")
      .file("cpu/events/slots", "event=0x00,umask=0x4")
      .file("cpu/events/topdown-retiring", "event=0x00,umask=0x80")
      .file("cpu/events/topdown-bad-spec", "event=0x00,umask=0x81")
      .file("cpu/events/topdown-fe-bound", "event=0x00,umask=0x82")
      .file("cpu/events/topdown-be-bound", "event=0x00,umask=0x83")
      .file("msr/type", "11")
      .file("msr/format/event", "config:0-63")
      .file("msr/events/tsc", "event=0x00")
      .file("power/type", "12")
      .file("power/cpumask", "0")
      .file("power/format/event", "config:0-7")
      .file("power/events/energy-pkg", "event=0x02");
}

constexpr std::uint64_t cache(unsigned id, unsigned operation, unsigned result) {
  return id | operation << 8 | result << 16;
}
constexpr unsigned read = PERF_COUNT_HW_CACHE_OP_READ, write = PERF_COUNT_HW_CACHE_OP_WRITE,
                   prefetch = PERF_COUNT_HW_CACHE_OP_PREFETCH, all = PERF_COUNT_HW_CACHE_RESULT_ACCESS,
                   miss = PERF_COUNT_HW_CACHE_RESULT_MISS;

/// A name, and the type and config that perf(1) gives it: linux/perf_event.h for its own events, Intel's
/// event lists (github.com/intel/perfmon, SKL) for the event codes and unit masks.
struct Known {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
constexpr Known known[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    {"dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY},
    {"bpf-output", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT},
    {"cgroup-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES},
    {"L1-dcache-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1D, read, all)},
    {"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1D, read, miss)},
    {"L1-dcache-stores", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1D, write, all)},
    {"L1-dcache-store-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1D, write, miss)},
    {"L1-dcache-prefetches", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1D, prefetch, all)},
    {"L1-dcache-prefetch-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1D, prefetch, miss)},
    {"L1-icache-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1I, read, all)},
    {"L1-icache-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1I, read, miss)},
    {"L1-icache-prefetches", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_L1I, prefetch, all)},
    {"LLC-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, read, all)},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, read, miss)},
    {"LLC-stores", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, write, all)},
    {"LLC-store-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, write, miss)},
    {"LLC-prefetches", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, prefetch, all)},
    {"LLC-prefetch-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_LL, prefetch, miss)},
    {"dTLB-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_DTLB, read, all)},
    {"dTLB-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_DTLB, read, miss)},
    {"dTLB-stores", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_DTLB, write, all)},
    {"dTLB-store-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_DTLB, write, miss)},
    {"dTLB-prefetches", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_DTLB, prefetch, all)},
    {"iTLB-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_ITLB, read, all)},
    {"iTLB-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_ITLB, read, miss)},
    {"branch-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_BPU, read, all)},
    {"branch-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_BPU, read, miss)},
    {"node-loads", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_NODE, read, all)},
    {"node-load-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_NODE, read, miss)},
    {"node-stores", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_NODE, write, all)},
    {"node-store-misses", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_NODE, write, miss)},
    {"node-prefetches", PERF_TYPE_HW_CACHE, cache(PERF_COUNT_HW_CACHE_NODE, prefetch, all)},
    {"r1c0", PERF_TYPE_RAW, 0x1c0},
    {"r003c", PERF_TYPE_RAW, 0x3c},
    {"rc0:u", PERF_TYPE_RAW, 0xc0},
    {"r53003c:k", PERF_TYPE_RAW, 0x53003c},
    {"cpu/r1c0/", PERF_TYPE_RAW, 0x1c0},
    {"cpu/r1c0/u", PERF_TYPE_RAW, 0x1c0},
    {"cpu/event=0xc0/", PERF_TYPE_RAW, 0xc0},
    {"cpu/event=0x3c,umask=0x1/", PERF_TYPE_RAW, 0x13c},
    {"cpu/event=0xa3,umask=0x6,cmask=6/", PERF_TYPE_RAW, 0x60006a3},
    {"cpu/event=0xc0,inv,cmask=10/", PERF_TYPE_RAW, 0xa8000c0},
    {"cpu/event=0xb1,umask=1,edge/", PERF_TYPE_RAW, 0x401b1},
    {"cpu/config=0x1c0/", PERF_TYPE_RAW, 0x1c0},
    {"cpu/event=0xd1,umask=0x20,name=l3_miss/", PERF_TYPE_RAW, 0x20d1},
    {"cpu/name=cycles,event=0x3c/", PERF_TYPE_RAW, 0x3c},
    {"cpu/cpu-cycles/", PERF_TYPE_RAW, 0x3c},
    {"cpu/instructions/", PERF_TYPE_RAW, 0xc0},
    {"cpu/instructions/u", PERF_TYPE_RAW, 0xc0},
    {"cpu/branch-misses/pp", PERF_TYPE_RAW, 0xc5},
    {"cpu/mem-loads,ldlat=30/P", PERF_TYPE_RAW, 0x1cd},
    {"cpu/slots/", PERF_TYPE_RAW, 0x400},
    {"slots", PERF_TYPE_RAW, 0x400},
    {"topdown-retiring", PERF_TYPE_RAW, 0x8000},
    {"topdown-bad-spec", PERF_TYPE_RAW, 0x8100},
    {"topdown-fe-bound", PERF_TYPE_RAW, 0x8200},
    {"topdown-be-bound:u", PERF_TYPE_RAW, 0x8300},
    {"mem-loads", PERF_TYPE_RAW, 0x1cd},
    {"msr/tsc/", 11, 0},
    {"power/energy-pkg/", 12, 2},
    {"mem:0x1000:rw", PERF_TYPE_BREAKPOINT, 0},
    {"mem:0x1000/8:w", PERF_TYPE_BREAKPOINT, 0},
    {"skl::L1D.REPLACEMENT", PERF_TYPE_RAW, 0x151},
    {"skl::BR_INST_RETIRED.CONDITIONAL", PERF_TYPE_RAW, 0x1c4},
    {"skl::BR_INST_RETIRED.NEAR_TAKEN", PERF_TYPE_RAW, 0x20c4},
    {"skl::BR_MISP_RETIRED.CONDITIONAL:u", PERF_TYPE_RAW, 0x1c5},
    {"skl::MEM_INST_RETIRED.ALL_LOADS", PERF_TYPE_RAW, 0x81d0},
    {"skl::MEM_INST_RETIRED.ALL_STORES", PERF_TYPE_RAW, 0x82d0},
    {"skl::MEM_LOAD_RETIRED.L1_MISS", PERF_TYPE_RAW, 0x8d1},
    {"skl::MEM_LOAD_RETIRED.L3_MISS", PERF_TYPE_RAW, 0x20d1},
    {"skl::DTLB_LOAD_MISSES.WALK_COMPLETED", PERF_TYPE_RAW, 0xe08},
    {"skl::INST_RETIRED.ANY_P", PERF_TYPE_RAW, 0xc0},
    {"skl::UOPS_ISSUED.ANY", PERF_TYPE_RAW, 0x10e},
    {"skl::LONGEST_LAT_CACHE.MISS", PERF_TYPE_RAW, 0x412e},
    {"skl::FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", PERF_TYPE_RAW, 0x1c7},
};

} // namespace

BOOST_AUTO_TEST_CASE(names_that_users_of_perf_type) {
  BOOST_TEST(std::size(known) >= 100U);
  SysfsTree tree;
  fill(tree);
  const auto pmus = tree.pmus();
  for (const auto& [name, type, config] : known) {
    BOOST_TEST_CONTEXT(name) {
      std::vector<Event> events;
      BOOST_CHECK_NO_THROW(events = event::encode_each_over(name, Domain::all, pmus));
      if (events.size() != 1) {
        BOOST_TEST(events.size() == 1U);
        continue;
      }
      BOOST_TEST(events[0].attr.type == type);
      BOOST_TEST(events[0].attr.config == config);
    }
  }
}

BOOST_AUTO_TEST_CASE(modifiers_of_perf) {
  SysfsTree tree;
  fill(tree);
  const auto pmus = tree.pmus();
  const struct {
    const char* name;
    unsigned precise;
    bool user, kernel, host, guest; ///< excluded
  } names[] = {{"cycles:p", 1, false, false, false, true},
               {"cycles:pp", 2, false, false, false, true},
               {"cycles:ppp", 3, false, false, false, true},
               {"cycles:P", 3, false, false, false, true},
               {"cycles:upp", 2, false, true, false, true},
               {"cycles:kp", 1, true, false, false, true},
               {"cycles:G", 0, false, false, true, false},
               {"cycles:H", 0, false, false, false, true},
               {"cycles:GH", 0, false, false, false, false},
               {"cycles:uG", 0, false, true, true, false},
               {"cpu/cpu-cycles/upp", 2, false, true, false, true},
               {"cpu/cpu-cycles/G", 0, false, false, true, false}};
  for (const auto& one : names) {
    BOOST_TEST_CONTEXT(one.name) {
      const Event event = event::encode_over(one.name, Domain::all, pmus);
      BOOST_TEST(event.attr.precise_ip == one.precise);
      BOOST_TEST(event.attr.exclude_user == one.user);
      BOOST_TEST(event.attr.exclude_kernel == one.kernel);
      BOOST_TEST(event.attr.exclude_host == one.host);
      BOOST_TEST(event.attr.exclude_guest == one.guest); // unless G is given, as perf(1) does
    }
  }
  for (const char* wrong : {"cycles:pppp", "cycles:uu", "cycles:x", "cycles:pq", "cpu/cpu-cycles/z"})
    BOOST_CHECK_THROW((void)event::encode_over(wrong, Domain::all, pmus), Error);
  BOOST_TEST(!event::split_modifiers("skl::L1D:REPLACEMENT").any());
  BOOST_TEST(!event::split_modifiers("perf::P").any()); // an event, not a modifier
}

BOOST_AUTO_TEST_CASE(tracepoints_by_their_number) {
  SysfsTree tracefs; // any directory
  tracefs.file("events/sched/sched_switch/id", "314");
  tracefs.file("name", "here");
  const std::string root = tracefs.root();
  const auto traced = [&](const char* name) {
    return event::tracepoints(name, Domain::all, {"/nowhere", root});
  };
  const auto found = traced("sched:sched_switch");
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found.front().attr.type == unsigned{PERF_TYPE_TRACEPOINT});
  BOOST_TEST(found.front().attr.config == 314U);
  BOOST_TEST((traced("sched:sched_switch:u").front().attr.exclude_kernel == 1));
  BOOST_TEST(traced("sched:no_such").empty());
  BOOST_TEST(traced("../sched:sched_switch").empty());
  tracefs.file("events/sched/sched_waking/id", "315")
      .file("events/sched/enable", "0")
      .file("events/irq/x/id", "3");
  const auto all = traced("sched:sched_*:u");
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST(all[0].name == "sched:sched_switch:u");
  BOOST_TEST(all[1].attr.config == 315U);
  BOOST_TEST((all[1].attr.exclude_kernel == 1));
  BOOST_TEST(traced("sched:*").size() == 2U);
  BOOST_TEST(traced("../sched:*").empty());
  BOOST_TEST(traced("*:x").empty());
}

BOOST_AUTO_TEST_SUITE_END()
