#include "base/process/temporary_folder.hpp"
#include "count/preset/catalogue.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <fstream>

using namespace recount;

namespace {

/// "CPU: CONFIG DESCRIPTION" of an event of a CPU that a file with this text describes, or what is wrong with
/// it.
std::string encode(const std::string& text, const std::string& name, const std::string& event) {
  const process::TemporaryFolder folder("recount-events");
  std::ofstream(folder.path() + "/x.json") << text;
  const auto all = preset::Catalogue::read({name + "=" + folder.path()});
  preset::Natives natives(all.pmus().front(), PapiVersion::v7_0, &all);
  const preset::Native& native = natives.of(event);
  return all.pmus().front().name + ": " +
         (native.ok() ? fmt::format("{:x} {}", native.config, native.prose) : native.failure + native.part);
}

constexpr const char* intel = R"({"Header": {"Version": "1"}, "Events": [
  {"EventName": "MEM.ALL_LOADS", "EventCode": "0xd0", "UMask": "0x81", "BriefDescription": "Loads",
   "SampleAfterValue": "1000003", "MSRIndex": "0x00"},
  {"EventName": "MEM.ALL_STORES", "EventCode": "0xd0", "UMask": "0x82", "BriefDescription": "Stores"},
  {"EventName": "L1D.LOAD.CYCLES", "EventCode": "0x48", "UMask": "0x01", "CounterMask": "1", "EdgeDetect": "1"},
  {"EventName": "INST_RETIRED.ANY", "EventCode": "0x00", "UMask": "0x01"}, {"EventName": ".x", "EventCode": "1"},
  {"EventName": "LINES", "EventCode": "0x1", "BriefDescription": "a\nP\t1\t1\t1\tb\tc"},
  {"EventName": "UNC_M_READS", "EventCode": "0x01", "Unit": "iMC"}]})";

} // namespace

// Bits as in /sys/bus/event_source/devices/cpu/format of Linux; INST_RETIRED.ANY has the architectural code,
// and L1D_CACHE_REFILL is 3 (Arm Architecture Reference Manual, "Common event numbers").
BOOST_AUTO_TEST_CASE(event_files_of_vendors) {
  const std::string arm = R"([{"ArchStdEvent": "L1D_CACHE_REFILL"}, {"ArchStdEvent": "NOSUCH"},
    {"ArchStdEvent": "L1D_CACHE", "BriefDescription": "own"}])";
  const std::string atom = R"([{"EventName": "L2.ALL", "EventCode": "0x24", "UMask": "7", "Unit": "cpu_atom",
    "SampleAfterValue": "1"}])";
  BOOST_TEST(encode(intel, "lnl", "MEM:ALL_LOADS") == "lnl: 81d0 Loads");
  BOOST_TEST(encode(intel, "lnl", "MEM:ALL_LOADS:ALL_STORES") == "lnl: 83d0 Loads; Stores");
  BOOST_TEST(encode(intel, "lnl", "MEM:ALL_FLOPS") == "lnl: ALL_FLOPS");
  BOOST_TEST(encode(intel, "lnl", "MEM") == "lnl: a unit mask is missing");
  BOOST_TEST(encode(intel, "lnl", "L1D:LOAD_CYCLES:u") == "lnl: 1040148 ");
  BOOST_TEST(encode(intel, "lnl", "INST_RETIRED:ANY") == "lnl: c0 ");
  BOOST_TEST(encode(intel, "lnl", "LINES") == "lnl: 1 a\\u000aP\\u00091\\u00091\\u00091\\u0009b\\u0009c");
  BOOST_TEST(encode(intel, "lnl", "UNC_M_READS") == "lnl: UNC_M_READS");
  BOOST_TEST(encode(atom, "arl", "L2:ALL") == "arl_atom: 724 ");
  BOOST_TEST(encode(R"([{"EventName": "ops.all", "EventCode": "0x1c1", "UMask": "2"}])", "zen7", "OPS:ALL") ==
             "zen7: 1000002c1 ");
  BOOST_TEST(encode(arm, "arm_n9", "L1D_CACHE_REFILL") == "arm_n9: 3 Level 1 data cache refill");
  BOOST_TEST(encode(arm, "arm_n9", "L1D_CACHE") == "arm_n9: 4 own");
  BOOST_TEST(encode(arm, "arm_n9", "NOSUCH") == "arm_n9: NOSUCH");
  BOOST_TEST(encode(R"([{"EventName": "BR", "EventCode": "0x4000"}])", "riscv_u99", "BR") ==
             "riscv_u99: 4000 ");
  BOOST_CHECK_THROW((void)encode(arm, "a\tb", "X"), Error);
}
