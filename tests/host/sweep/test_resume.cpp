// Whatever ends a sweep, what was measured stays, and the resumed results equal the uninterrupted ones.
#include "../../skip.hpp"
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "run/result/observation.hpp"
#include "run/result/results_file.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

using namespace recount;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(resume)

namespace {

struct Folder {
  process::TemporaryFolder folder{"recount-sweep"};
  fs::path path = folder.path();
};

struct Sweep {
  std::string file, n = "1:4:1", repeat = "2", fault = "0", how = "segv";
  [[nodiscard]] process::Spawn spawn(const std::string& limit = {}) const {
    process::Spawn s;
    s.argv = {SWEEP_RUNNER, "sweep", file, n, repeat, fault, how};
    if (!limit.empty()) s.argv.push_back(limit);
    return s;
  }
  [[nodiscard]] process::Captured finish(const std::string& limit = {}) const {
    return process::capture(spawn(limit), {}, std::chrono::minutes(2));
  }
};

std::string key(const result::Params& params, int repetition, const Witness& witness,
                const std::string& metric) {
  return result::make_json(params).dump() + ' ' + std::to_string(repetition) + ' ' + witness.name() + ' ' +
         metric;
}

/// Everything but what a clock shows, which no two runs share: there it is only whether there is a value.
std::map<std::string, std::string> content(const std::string& file) {
  const auto results = result::read(file);
  BOOST_TEST(results.warnings.empty());
  std::map<std::string, std::string> all;
  for (const auto& o : results.observations) {
    const auto* whole = std::get_if<std::int64_t>(&o.value);
    const std::string value =
        o.witness == "clock" ? (o.value.index() == 0 ? "none" : "some") : std::to_string(whole ? *whole : -1);
    BOOST_TEST(all.emplace(key(o.params, o.repetition, o.witness, o.metric), value).second, "twice");
  }
  for (const auto& f : results.failures)
    BOOST_TEST(all.emplace(key(f.params, f.repetition, f.witness, "failed"), f.reason.text()).second,
               "twice");
  return all;
}

void check_equal(const std::string& file, const std::map<std::string, std::string>& whole) {
  const auto resumed = content(file);
  BOOST_TEST(resumed.size() == whole.size());
  for (const auto& [what, value] : whole) {
    const auto found = resumed.find(what);
    BOOST_TEST((found != resumed.end()), what << " is missing");
    if (found != resumed.end())
      BOOST_TEST(found->second == value, what << ": " << found->second << " for " << value);
  }
}

std::size_t lines(const std::string& file) {
  std::ifstream in(file);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);)
    ++count;
  return count;
}

} // namespace

BOOST_AUTO_TEST_CASE(killed_at_random_moments_and_resumed) {
  const Folder folder;
  Sweep whole{(folder.path / "whole").string()};
  whole.fault = "3"; // a crashing point is part of it
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(whole.finish().exit.ok());
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  const auto expected = content(whole.file);
  // 4 n x 2 m less (1, 2), 2 repetitions: clock 10 runs of 2 metrics and 4 failures, model 7 of 2
  BOOST_TEST(expected.size() == 10U * 2 + 4 + 7 * 2);

  std::mt19937 random(std::random_device{}());
  int killed = 0;
  auto latest = static_cast<unsigned>(took.count() / 2);
  for (int round = 0; round < 2 || (killed < 2 && round < 40); ++round) {
    Sweep broken = whole;
    broken.file = (folder.path / ("broken" + std::to_string(round))).string();
    for (int kill = 0; kill < 3; ++kill) {
      process::Child child(broken.spawn());
      if (child.wait_for(std::chrono::milliseconds(random() % (latest + 1)))) { // it was done sooner
        latest /= 2; // the whole run was slow, on a machine that was busy then
        break;
      }
      ::kill(child.pid(), SIGKILL);
      if (child.wait().how == process::Exit::How::signalled) ++killed; // it may just have ended
    }
    BOOST_TEST(broken.finish().exit.ok());
    check_equal(broken.file, expected);
    BOOST_TEST(broken.finish().out == "0 of 21, 21 there\n"); // nothing is left to do
  }
  BOOST_TEST(killed >= 2);
}

BOOST_AUTO_TEST_CASE(every_torn_end_is_resumed) {
  const Folder folder;
  Sweep whole{(folder.path / "whole").string()};
  whole.n = "1:2:1";
  whole.repeat = "1";
  BOOST_TEST(whole.finish().exit.ok());
  const auto expected = content(whole.file);
  const auto size = fs::file_size(whole.file);
  std::mt19937 random(7);
  for (int round = 0; round < 5; ++round) {
    Sweep torn = whole;
    torn.file = (folder.path / "torn").string();
    fs::copy_file(whole.file, torn.file, fs::copy_options::overwrite_existing);
    fs::resize_file(torn.file, random() % size);
    BOOST_TEST(torn.finish().exit.ok());
    check_equal(torn.file, expected);
  }
}

BOOST_AUTO_TEST_CASE(a_full_disk_loses_nothing_that_was_measured) {
  const Folder folder;
  Sweep whole{(folder.path / "whole").string()};
  BOOST_TEST(whole.finish().exit.ok());
  const auto expected = content(whole.file);
  const auto size = fs::file_size(whole.file);
  // Half of the whole at most: its runs may have been disturbed, which makes lines longer, and the others
  // not.
  for (const unsigned part : {1U, 25U, 45U}) {
    Sweep full = whole;
    full.file = (folder.path / ("full" + std::to_string(part))).string();
    const auto ended = full.finish(std::to_string(size * part / 100));
    BOOST_TEST((ended.exit.how == process::Exit::How::exited));
    BOOST_TEST(ended.exit.code == 2);
    BOOST_TEST(ended.err.find("RLIMIT_FSIZE = ") != std::string::npos, ended.err);
    const std::size_t kept = part == 1 ? 0 : lines(full.file);
    if (part > 1) BOOST_TEST(kept > 1U);
    BOOST_TEST(full.finish().exit.ok());
    check_equal(full.file, expected);
    BOOST_TEST(lines(full.file) >= kept);
  }
}

BOOST_AUTO_TEST_CASE(a_file_system_without_room_is_survived) {
  const Folder folder;
  const auto disk = folder.path / "disk";
  fs::create_directories(disk);
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", disk.c_str(), "tmpfs", 0, "size=8k") != 0)
    return test::skip(std::string("no file system of its own can be mounted here: ") + std::strerror(errno));
  Sweep sweep{(disk / "file").string()};
  const auto ended = sweep.finish();
  BOOST_TEST(ended.exit.code == 2);
  BOOST_TEST(ended.err.find("No space left on device") != std::string::npos, ended.err);
  const auto kept = content(sweep.file);
  BOOST_TEST(kept.size() > 3U);
  BOOST_TEST(::mount("none", disk.c_str(), nullptr, MS_REMOUNT, "size=1m") == 0);
  BOOST_TEST(sweep.finish().exit.ok());
  const auto resumed = content(sweep.file);
  BOOST_TEST(resumed.size() == 14U * 2 + 7 * 2);
  for (const auto& [what, value] : kept)
    BOOST_TEST(resumed.contains(what), what);
  ::umount(disk.c_str());
}

BOOST_AUTO_TEST_SUITE_END()
