#include "base/process/temporary_folder.hpp"
#include "count/preset/catalogue.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <fstream>

using namespace recount;

namespace {

/// "CONFIG DESCRIPTION" of an event of an event file with this text, that of the CPU `name`.
std::string encode(const std::string& text, const std::string& name, const std::string& event) {
  const process::TemporaryFolder folder("recount-events");
  std::ofstream(folder.path() + "/x.json") << text;
  const auto all =
      preset::Catalogue::of("# recount event catalogue 1: test\n" +
                                preset::event_file_lines({name + "=" + folder.path() + "/x.json"}),
                            "test");
  preset::Natives natives(all.pmus().front(), PapiVersion::v7_0, &all);
  const preset::Native& native = natives.of(event);
  return all.pmus().front().name + (native.ok() ? fmt::format(" {:x} {}", native.config, native.prose) : "");
}

constexpr const char* intel = R"({"Header": {"Version": "1"}, "Events": [
  {"EventName": "MEM_INST_RETIRED.ALL_LOADS", "EventCode": "0xd0", "UMask": "0x81", "BriefDescription": "Loads",
   "SampleAfterValue": "1000003", "MSRIndex": "0x00"},
  {"EventName": "L1D_PENDING.LOAD_CYCLES", "EventCode": "0x48", "UMask": "0x01", "CounterMask": "1", "EdgeDetect": "1"},
  {"EventName": "INST_RETIRED.ANY", "EventCode": "0x00", "UMask": "0x01"},
  {"EventName": "UNC_M_READS", "EventCode": "0x01", "Unit": "iMC"}]})";

} // namespace

// Bits as in /sys/bus/event_source/devices/cpu/format of Linux; INST_RETIRED.ANY has the architectural code,
// and L1D_CACHE_REFILL is 3 (Arm Architecture Reference Manual, "Common event numbers").
BOOST_AUTO_TEST_CASE(event_files_of_vendors) {
  BOOST_TEST(encode(intel, "lnl", "MEM_INST_RETIRED:ALL_LOADS") == "lnl 81d0 Loads");
  BOOST_TEST(encode(intel, "lnl", "L1D_PENDING:LOAD_CYCLES:u") == "lnl 1040148 ");
  BOOST_TEST(encode(intel, "lnl", "INST_RETIRED:ANY") == "lnl c0 ");
  BOOST_TEST(encode(intel, "lnl", "INST_RETIRED:ALL") == "lnl");
  BOOST_TEST(encode(intel, "lnl", "UNC_M_READS") == "lnl");
  BOOST_TEST(encode(R"([{"EventName": "L2.ALL", "EventCode": "0x24", "UMask": "7", "Unit": "cpu_atom",
    "SampleAfterValue": "1"}])",
                    "arl", "L2:ALL") == "arl_atom 724 ");
  BOOST_TEST(encode(R"([{"EventName": "ops.all", "EventCode": "0x1c1", "UMask": "2"}])", "zen7", "OPS:ALL") ==
             "zen7 1000002c1 ");
  const std::string arm = R"([{"ArchStdEvent": "L1D_CACHE_REFILL"}, {"ArchStdEvent": "NOSUCH"}])";
  BOOST_TEST(encode(arm, "arm_n9", "L1D_CACHE_REFILL") == "arm_n9 3 ");
  BOOST_TEST(encode(arm, "arm_n9", "NOSUCH") == "arm_n9");
  BOOST_TEST(encode(R"([{"EventName": "BR", "EventCode": "0x4000"}])", "riscv_u99", "BR") ==
             "riscv_u99 4000 ");
  BOOST_CHECK_THROW((void)encode(arm, "a,b", "NOSUCH"), Error);
}
