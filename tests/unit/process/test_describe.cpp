// How an end is put into words.
#include "base/process/child.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>

using namespace recount::process;

BOOST_AUTO_TEST_CASE(each_end_reads_as_a_clause) {
  BOOST_TEST(describe({Exit::How::exited, 3}) == "exit status 3");
  BOOST_TEST(describe({Exit::How::signalled, SIGSEGV}) == "killed by signal 11 (SIGSEGV)");
  BOOST_TEST(describe({Exit::How::timed_out, 10'000}) == "still running after 10 s, killed");
  BOOST_TEST(describe({Exit::How::timed_out, 250}) == "still running after 0.25 s, killed");
}

BOOST_AUTO_TEST_CASE(only_status_0_is_well) {
  BOOST_TEST((Exit{Exit::How::exited, 0}).ok());
  BOOST_TEST(!(Exit{Exit::How::exited, 1}).ok());
  BOOST_TEST(!(Exit{Exit::How::signalled, 0}).ok());
}

BOOST_AUTO_TEST_CASE(a_signal_without_a_name_keeps_its_number) {
  BOOST_TEST(signal_name(SIGXFSZ) == "SIGXFSZ");
  BOOST_TEST(signal_name(40) == "signal 40");
}
