// Results files: appended line by line, torn ends cut, foreign files refused untouched, merged by cat.
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"
#include "observed.hpp"
#include "run/result/observation.hpp"
#include "run/result/results_file.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <recount/error.hpp>
#include <sys/resource.h>
#include <unistd.h>

using namespace recount::result;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(file)

namespace {
struct Folder {
  recount::process::TemporaryFolder folder{"recount-result"};
  fs::path path = folder.path();
  [[nodiscard]] std::string operator/(const char* name) const { return (path / name).string(); }
};

std::string contents(const std::string& path) {
  return recount::base::read_file(path).value_or("");
}
void put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

recount::result::Run run(const std::string& id) {
  recount::result::Run r;
  r.id = id;
  return r;
}
recount::result::Observation observation(const std::string& run, int repetition) {
  auto o = recount::test::observed("k", {{"n", std::int64_t{1}}}, "clock", "seconds", 0.5, repetition);
  o.run = run;
  return o;
}

template <class Body>
std::string complaint(Body&& body) {
  try {
    body();
  } catch (const recount::Error& error) {
    return error.what();
  }
  return "";
}
bool holds(const std::string& text, const char* part) {
  return text.find(part) != text.npos;
}
} // namespace

BOOST_AUTO_TEST_CASE(written_lines_are_readable_at_once) {
  const Folder folder;
  const std::string path = folder / "a.jsonl";
  recount::result::Writer writer(path, recount::result::Writer::Mode::create);
  writer.write(run("R"));
  writer.write(observation("R", 0));
  writer.write(recount::result::Failure{"R", "k", {}, 1, "clock", "crashed"});
  const recount::result::Results all = recount::result::read(path); // the writer is still open
  BOOST_TEST(all.runs.size() == 1U);
  BOOST_TEST(all.observations.size() == 1U);
  BOOST_REQUIRE(all.failures.size() == 1U);
  BOOST_TEST(all.failures[0].reason.cause == "crashed");
  BOOST_TEST(all.runs_by_id().at("R") == &all.runs[0]);
  BOOST_TEST(!all.runs_by_id().contains("S"));
}

BOOST_AUTO_TEST_CASE(results_are_never_overwritten) {
  const Folder folder;
  const std::string path = folder / "a.jsonl";
  { recount::result::Writer(path, recount::result::Writer::Mode::create).write(run("R")); }
  const std::string before = contents(path);
  BOOST_TEST(holds(complaint([&] { recount::result::Writer(path, recount::result::Writer::Mode::create); }),
                   "never overwritten"));
  BOOST_TEST(contents(path) == before);
}

BOOST_AUTO_TEST_CASE(a_torn_end_is_ignored_by_readers_and_cut_by_writers) {
  const Folder folder;
  const std::string path = folder / "a.jsonl";
  const std::string whole =
      recount::result::to_line(run("R")) + '\n' + recount::result::to_line(observation("R", 0)) + '\n';
  const std::string last = recount::result::to_line(observation("R", 1));
  for (std::size_t cut = 0; cut <= last.size(); ++cut) {
    put(path, whole + last.substr(0, cut));
    const recount::result::Results all = recount::result::read(path);
    BOOST_TEST(all.observations.size() == (cut == last.size() ? 2U : 1U));
    BOOST_TEST(all.warnings.size() == (cut == 0 || cut == last.size() ? 0U : 1U));
    { recount::result::Writer writer(path, recount::result::Writer::Mode::append); }
    BOOST_TEST(contents(path) == whole);
  }
}

BOOST_AUTO_TEST_CASE(a_file_torn_within_its_header_holds_nothing) {
  const Folder folder;
  const std::string path = folder / "a.jsonl";
  BOOST_TEST(recount::result::holds_nothing(path));
  const std::string header = recount::result::to_line(run("R"));
  for (std::size_t cut = 0; cut < header.size(); cut += 7) {
    put(path, header.substr(0, cut));
    BOOST_TEST(recount::result::holds_nothing(path));
  }
  { recount::result::Writer(path, recount::result::Writer::Mode::create).write(run("S")); }
  BOOST_TEST(recount::result::read(path).runs.at(0).id == "S");
  BOOST_TEST(!recount::result::holds_nothing(path));
  put(path, "a line of a diary");
  BOOST_TEST(!recount::result::holds_nothing(path));
}

BOOST_AUTO_TEST_CASE(foreign_files_are_refused_with_their_line_and_left_alone) {
  const Folder folder;
  const std::string path = folder / "foreign";
  const std::string header = recount::result::to_line(run("R")) + '\n';
  const std::pair<std::string, const char*> table[] = {
      {"a diary\nwithout end", ":1: is not JSON"},
      {std::string("\0\0\0", 3), ":1: contains a NUL byte"},
      {header + std::string("\0\n", 2), ":2: contains a NUL byte"},
      {header + "nonsense\n" + header, ":2: is not JSON"},
      {recount::result::to_line(observation("R", 0)) + '\n', "a results file starts with a line of type run"},
      {header + recount::result::to_line(observation("X", 0)) + '\n', ":2: no header line of run \"X\""},
      {std::string(recount::result::longest_line + 200'000, 'x'), ":1: the line is longer than"},
      {"", "is empty"},
  };
  for (const auto& [text, cause] : table) {
    put(path, text);
    const std::string said = complaint([&] { static_cast<void>(recount::result::read(path)); });
    BOOST_TEST(holds(said, cause), cause << " gave: " << said);
    if (!text.empty())
      BOOST_TEST(
          !complaint([&] { recount::result::Writer(path, recount::result::Writer::Mode::append); }).empty());
    BOOST_TEST(contents(path) == text);
  }
  BOOST_TEST(
      holds(complaint([&] { static_cast<void>(recount::result::read(folder / "none")); }), "No such file"));
  BOOST_TEST(
      holds(complaint([&] { static_cast<void>(recount::result::read(folder.path.string())); }), "directory"));
  BOOST_TEST(holds(complaint([&] { static_cast<void>(recount::result::read("/dev/zero")); }), "longer than"));
  BOOST_TEST(holds(complaint([&] {
                     recount::result::Writer(folder / "no/such/folder",
                                             recount::result::Writer::Mode::create);
                   }),
                   "No such file"));
  BOOST_TEST(holds(complaint([&] {
                     recount::result::Writer(folder.path.string(), recount::result::Writer::Mode::create);
                   }),
                   "directory"));
}

BOOST_AUTO_TEST_CASE(concatenated_files_merge_and_duplicates_are_reported) {
  const Folder folder;
  const std::string a = folder / "a", b = folder / "b", both = folder / "both";
  {
    recount::result::Writer w(a, recount::result::Writer::Mode::create);
    w.write(run("A"));
    w.write(observation("A", 0));
  }
  {
    recount::result::Writer w(b, recount::result::Writer::Mode::create);
    w.write(run("B"));
    w.write(observation("B", 0));
  }
  put(both, contents(a) + contents(b));
  BOOST_TEST(recount::result::read(both).observations.size() == 2U);
  BOOST_TEST(recount::result::read({a, b}).runs.size() == 2U);
  put(both, contents(a) + contents(a));
  const recount::result::Results twice = recount::result::read(both);
  BOOST_TEST(twice.runs.size() == 1U);
  BOOST_TEST(twice.observations.size() == 1U);
  BOOST_REQUIRE(twice.warnings.size() == 1U);
  BOOST_TEST(holds(twice.warnings[0], "1 observation occurs more than once"));
  put(both, recount::result::to_line(run("B")) + '\n' + contents(a).substr(contents(a).find('\n') + 1) +
                recount::result::to_line(run("A")) + '\n');
  BOOST_TEST(recount::result::read(both).observations.size() ==
             1U); // sorted shards: a header may follow its lines
}

BOOST_AUTO_TEST_CASE(two_writers_do_not_share_a_file) {
  const Folder folder;
  const std::string path = folder / "a";
  recount::result::Writer first(path, recount::result::Writer::Mode::create);
  first.write(run("R"));
  BOOST_TEST(holds(complaint([&] { recount::result::Writer(path, recount::result::Writer::Mode::append); }),
                   "another recount writes to it"));
}

BOOST_AUTO_TEST_CASE(a_file_at_its_limit_ends_with_a_whole_line) {
  const Folder folder;
  const std::string path = folder / "a";
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  recount::result::Writer writer(path, recount::result::Writer::Mode::create);
  writer.write(run("R"));
  const struct rlimit small { 1500, before.rlim_max };
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string said = complaint([&] {
    for (int i = 0; i < 100; ++i)
      writer.write(observation("R", i));
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  BOOST_TEST(holds(said, "File too large"));
  BOOST_TEST(holds(said, "RLIMIT_FSIZE = 1500 bytes"));
  const recount::result::Results all = recount::result::read(path);
  BOOST_TEST(all.warnings.empty());
  BOOST_TEST(all.observations.size() >= 3U);
  BOOST_TEST(contents(path).back() == '\n');
}

BOOST_AUTO_TEST_CASE(full_device_is_reported) {
  const std::string said = complaint(
      [&] { recount::result::Writer("/dev/full", recount::result::Writer::Mode::create).write(run("R")); });
  BOOST_TEST(holds(said, "No space left on device"), said);
}

BOOST_AUTO_TEST_CASE(points_as_text) {
  BOOST_TEST(recount::result::describe({{"size", std::int64_t{64}}, {"variant", std::string("ijk")}}) ==
             "size=64 variant=ijk");
  BOOST_TEST(recount::result::read_text(recount::result::to_line(run("R")) + "\r\n\n", "text").runs.size() ==
             1U);
}

BOOST_AUTO_TEST_SUITE_END()
