// Uncore PMUs as sysfs describes them: units, and several instances.
#include "count/event/encode.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;

namespace {

/// After Documentation/ABI/testing/sysfs-bus-event_source-devices-events, and the files of a Skylake server.
std::vector<host::Pmu> server() {
  host::Pmu power;
  power.name = "power";
  power.type = 20;
  power.formats = {{"event", "config:0-7"}};
  power.events = {{"energy-pkg", "event=0x02"}, {"energy-ram", "event=0x03"}};
  power.scales = {{"energy-pkg", "2.3283064365386962890625e-10"}, {"energy-ram", "nonsense"}};
  power.units = {{"energy-pkg", "Joules"}, {"energy-ram", "Joules"}};
  power.cpumask = {0, 28};
  std::vector<host::Pmu> pmus{power};
  for (std::uint32_t i = 0; i < 2; ++i) {
    host::Pmu imc;
    imc.name = "uncore_imc_" + std::to_string(i);
    imc.type = 30 + i;
    imc.formats = {{"event", "config:0-7"}, {"umask", "config:8-15"}};
    imc.events = {{"cas_count_read", "event=0x04,umask=0x03"}};
    imc.scales = {{"cas_count_read", "6.103515625e-5"}};
    imc.units = {{"cas_count_read", "MiB"}};
    imc.cpumask = {0, 28};
    pmus.push_back(imc);
  }
  return pmus;
}

} // namespace

BOOST_AUTO_TEST_SUITE(uncore)

BOOST_AUTO_TEST_CASE(a_scale_is_that_of_the_event_with_this_code) {
  const auto pmus = server();
  const auto energy = event::scale_of(event::encode_over("power/event=2/", Domain::all, pmus), pmus);
  BOOST_TEST_REQUIRE(energy.has_value());
  BOOST_TEST(energy->factor == 0x1p-32); // RAPL counts in units of 2^-32 J
  BOOST_TEST(energy->unit == "Joules");
  const auto reads =
      event::scale_of(event::encode_over("uncore_imc_1/cas_count_read/", Domain::all, pmus), pmus);
  BOOST_TEST(reads->factor * (1 << 20) == 64.0); // a line of 64 bytes
  BOOST_TEST(!event::scale_of(event::encode_over("power/event=1/", Domain::all, pmus), pmus).has_value());
}

BOOST_AUTO_TEST_CASE(a_unit_whose_scale_is_no_number_is_not_used) {
  const auto pmus = server();
  BOOST_TEST(!event::scale_of(event::encode_over("power/energy-ram/", Domain::all, pmus), pmus).has_value());
}

BOOST_AUTO_TEST_CASE(a_name_without_its_number_means_all_instances) {
  const auto pmus = server();
  const auto each = event::encode_each_over("uncore_imc/cas_count_read/", Domain::all, pmus);
  BOOST_TEST_REQUIRE(each.size() == 2U);
  BOOST_TEST(each[0].attr.type == 30U);
  BOOST_TEST(each[1].attr.type == 31U);
  BOOST_TEST(each[1].attr.config == 0x304U);
  BOOST_CHECK_THROW((void)event::encode_over("uncore_imc/cas_count_read/", Domain::all, pmus), Error);
  BOOST_CHECK_THROW((void)event::encode_each_over("uncore_im/cas_count_read/", Domain::all, pmus), Error);
}

BOOST_AUTO_TEST_SUITE_END()
