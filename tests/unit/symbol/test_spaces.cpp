// Address spaces, as records report them.
#include "count/symbol/spaces.hpp"
#include "mapped.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;
using symbol::Spaces;
using test::mapped;

BOOST_AUTO_TEST_SUITE(spaces)

namespace {

std::string where(const Spaces& spaces, std::uint32_t pid, std::uint64_t address) {
  const auto place = spaces.find(pid, address);
  return place ? spaces.files()[place->file].path + "+" + std::to_string(place->offset) : "?";
}

} // namespace

BOOST_AUTO_TEST_CASE(address_maps_to_file_offset) {
  Spaces s;
  s.add(mapped(1, 1000, 100, 4096, "/a"));
  BOOST_TEST(where(s, 1, 1000) == "/a+4096");
  BOOST_TEST(where(s, 1, 1099) == "/a+4195");
  BOOST_TEST(where(s, 1, 1100) == "?");
  BOOST_TEST(where(s, 1, 999) == "?");
  BOOST_TEST(where(s, 2, 1000) == "?");
  BOOST_TEST((s.mapped(1, 0) == std::pair<std::uint64_t, std::uint64_t>(1000, 4096)));
}

BOOST_AUTO_TEST_CASE(later_mapping_replaces_earlier_one) {
  Spaces s;
  s.add(mapped(1, 1000, 100, 0, "/a"));
  s.add(mapped(1, 1020, 10, 0, "/b"));
  BOOST_TEST(where(s, 1, 1019) == "/a+19");
  BOOST_TEST(where(s, 1, 1020) == "/b+0");
  BOOST_TEST(where(s, 1, 1030) == "/a+30");
  s.add(mapped(1, 900, 1000, 0, "/c"));
  BOOST_TEST(where(s, 1, 1025) == "/c+125");
  s.add(mapped(1, 1100, 900, 0, "/d"));
  BOOST_TEST(where(s, 1, 1099) == "/c+199");
  BOOST_TEST(where(s, 1, 1100) == "/d+0");
}

BOOST_AUTO_TEST_CASE(fork_copies_the_mappings_of_its_parent) {
  Spaces s;
  s.add(mapped(1, 1000, 100, 0, "/a"));
  s.add(Fork{0, 2, 2, 1, 1});
  s.add(mapped(2, 1000, 50, 0, "/b"));
  BOOST_TEST(where(s, 2, 1000) == "/b+0");
  BOOST_TEST(where(s, 2, 1060) == "/a+60");
  BOOST_TEST(where(s, 1, 1000) == "/a+0");
  s.add(Name{0, 2, 2, true, "other"});
  BOOST_TEST(where(s, 2, 1060) == "?");
  BOOST_TEST(where(s, 1, 1060) == "/a+60");
}

BOOST_AUTO_TEST_CASE(threads_share_mappings_and_renaming_keeps_them) {
  Spaces s;
  s.add(mapped(1, 1000, 100, 0, "/a"));
  s.add(Fork{0, 1, 7, 1, 1});
  s.add(Name{0, 1, 7, false, "worker"});
  s.add(End{0, 1, 1}); // its first thread
  BOOST_TEST(where(s, 1, 1010) == "/a+10");
}

BOOST_AUTO_TEST_CASE(mappings_of_ended_processes_are_removed_later) {
  Spaces s;
  for (std::uint32_t pid = 1; pid <= 1000; ++pid) {
    s.add(mapped(pid, 1000, 100, 0, "/a"));
    s.add(End{0, pid, pid});
  }
  BOOST_TEST(where(s, 1, 1010) == "?");
  BOOST_TEST(where(s, 1000, 1010) == "/a+10");
}

BOOST_AUTO_TEST_CASE(invalid_mappings_are_ignored) {
  Spaces s;
  s.add(mapped(1, ~0ULL - 10, 100, 0, "/a"));
  s.add(mapped(1, 5, 0, 0, "/a"));
  BOOST_TEST(where(s, 1, 5) == "?");
  s.add(Record(mapped(1, 5, 5, 0, "//anon")));
  BOOST_TEST(where(s, 1, 6) == "//anon+6");
}

BOOST_AUTO_TEST_CASE(files_of_one_path_and_different_inodes_are_distinct) {
  Spaces s;
  Mapping m = mapped(1, 1000, 100, 0, "/a");
  m.inode = 1;
  s.add(m);
  m.inode = 2;
  m.start = 2000;
  s.add(m);
  BOOST_TEST(s.files().size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
