// Who is counted: threads and children to come, another process, a CPU.
#include "helpers.hpp"
#include "needs.hpp"
#include "skip.hpp"
#include "target.hpp"

#include <recount/group.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/stat.h>
#include <thread>

using namespace recount;

BOOST_AUTO_TEST_SUITE(targets, *test::needs(test::no_software_events))

namespace {

constexpr std::size_t pages = 100;

/// Faults of threads and processes include what starting them costs, so a count is compared with that of the
/// same work on no page.
std::uint64_t faults_of(const std::function<void(std::size_t)>& work, std::size_t amount, bool inherit) {
  GroupOptions options;
  options.inherit = inherit;
  Group group({"perf::PAGE-FAULTS"}, Domain::all, options);
  group.start();
  work(amount);
  group.stop();
  return group.read()[0].value.value();
}

void in_thread(std::size_t amount) {
  FreshPages memory(pages);
  std::thread([&] { memory.touch(0, amount); }).join();
}

void in_fork(std::size_t amount) {
  FreshPages memory(pages);
  const pid_t child = fork();
  if (child == 0) {
    memory.touch(0, amount);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

/// Works on each CPU in turn that this process may use. Returns their number.
template <class Work>
std::uint64_t on_each_cpu(const Work& work) {
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  std::uint64_t cpus = 0;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) continue;
    ++cpus;
    work();
  }
  sched_setaffinity(0, sizeof before, &before);
  return cpus;
}

/// The least of several differences: noise only adds.
std::uint64_t added(const std::function<void(std::size_t)>& work, bool inherit) {
  (void)faults_of(work, pages, inherit);
  std::uint64_t full = ~0ULL, empty = ~0ULL;
  for (int i = 0; i < 5; ++i) {
    full = std::min(full, faults_of(work, pages, inherit));
    empty = std::min(empty, faults_of(work, 0, inherit));
  }
  return full - empty;
}

/// Stops itself, then touches pages, for the parent to attach meanwhile.
pid_t stopped_child(std::size_t amount) {
  const pid_t child = fork();
  if (child == 0) {
    FreshPages memory(amount + 1);
    memory.touch(0, 1);
    raise(SIGSTOP);
    memory.touch(1, amount + 1);
    _exit(0);
  }
  waitpid(child, nullptr, WUNTRACED);
  return child;
}

/// A new cgroup with one process, removed at the end; fd() < 0 where none can be made.
class Cgroup {
public:
  explicit Cgroup(pid_t pid) {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string device, folder, type, rest;
         mounts >> device >> folder >> type && std::getline(mounts, rest) && fd_ < 0;)
      if (type == "cgroup2") enter(folder + "/recount-test-" + std::to_string(pid), pid);
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup() {
    if (fd_ >= 0) close(fd_);
    rmdir(path_.c_str());
  }
  [[nodiscard]] int fd() const { return fd_; }

private:
  void enter(const std::string& path, pid_t pid) {
    if (mkdir(path.c_str(), 0700) != 0) return;
    path_ = path;
    if (std::ofstream(path + "/cgroup.procs") << pid << std::flush)
      fd_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  std::string path_;
  int fd_ = -1;
};

} // namespace

BOOST_AUTO_TEST_CASE(only_processes_of_a_cgroup_are_counted) {
  Target inside([] {
    FreshPages memory(3 * pages);
    memory.touch(0, 3 * pages);
  });
  const Cgroup cgroup(inside.pid());
  if (cgroup.fd() < 0) return test::skip("no cgroup can be made below a mount of cgroup2");
  GroupOptions options;
  options.all_cpus = true;
  options.cgroup = cgroup.fd();
  std::optional<Group> group;
  try {
    group.emplace(std::vector<std::string>{"perf::PAGE-FAULTS"}, Domain::user, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    return test::skip(error.what());
  }
  group->start();
  FreshPages outside(40 * pages);
  outside.touch(0, 40 * pages);
  inside.go();
  inside.join();
  group->stop();
  const auto faults = group->read()[0].value.value();
  BOOST_TEST((faults >= 3 * pages && faults < 20 * pages), faults);
  options.all_cpus = false;
  BOOST_CHECK_THROW(Group({"perf::PAGE-FAULTS"}, Domain::user, options), Error); // on no CPU
}

BOOST_AUTO_TEST_CASE(threads_to_come_are_counted_when_inherited) {
  BOOST_TEST(added(in_thread, true) == pages);
  BOOST_TEST(added(in_thread, false) == 0U);
}

BOOST_AUTO_TEST_CASE(processes_to_come_are_counted_when_inherited) {
  BOOST_TEST(added(in_fork, true) == pages);
  BOOST_TEST(added(in_fork, false) == 0U);
}

BOOST_AUTO_TEST_CASE(a_group_is_read_while_children_come_and_go) {
#if defined(__SANITIZE_ADDRESS__) // which makes a fork ten times as slow
  constexpr int children = 400;
#else
  constexpr int children = 4000;
#endif
  Target breeder([] {
    for (int i = 0; i < children; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      waitpid(child, nullptr, 0);
    }
  });
  GroupOptions options;
  options.pid = breeder.pid();
  options.inherit = true;
  Group group({"perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES"}, Domain::all, options);
  group.start();
  breeder.go();
  std::uint64_t before = 0;
  for (int i = 0; i < 50 * children; ++i) {
    const std::uint64_t faults = group.read()[1].value.value(); // Linux may say ECHILD meanwhile
    BOOST_REQUIRE(faults >= before);
    before = faults;
  }
  BOOST_TEST(before > 0U);
}

BOOST_AUTO_TEST_CASE(reset_also_forgets_what_ended_children_counted) {
  GroupOptions options;
  options.inherit = true;
  Group group({"perf::PAGE-FAULTS"}, Domain::all, options);
  FreshPages memory(11);
  group.start();
  in_thread(pages);
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 11);
  group.stop();
  BOOST_TEST(group.read()[0].value.value() == 10U);
}

BOOST_AUTO_TEST_CASE(two_groups_on_one_stopped_process_agree_exactly) {
  const pid_t child = stopped_child(300);
  GroupOptions options;
  options.pid = child;
  Group one({"perf::PAGE-FAULTS", "perf::MINOR-FAULTS"}, Domain::all, options);
  Counters two({"perf::PAGE-FAULTS"}, Domain::all, options);
  one.start();
  two.start();
  BOOST_TEST(one.read()[0].value.value_or(0) == 0U); // it has not run yet
  kill(child, SIGCONT);
  waitpid(child, nullptr, 0);
  one.stop();
  two.stop();
  BOOST_TEST(one.read()[0].value.value() >= 300U);
  BOOST_TEST(one.read()[0].value.value() == two.read()[0].value.value());
}

BOOST_AUTO_TEST_CASE(enable_on_exec_starts_with_the_new_program) {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    FreshPages memory(5000); // before the exec: must not be counted
    memory.touch(0, 5000);
    execl("/bin/true", "true", nullptr);
    _exit(127);
  }
  waitpid(child, nullptr, WUNTRACED);
  GroupOptions options;
  options.pid = child;
  options.enable_on_exec = true;
  Group group({"perf::PAGE-FAULTS", "perf::TASK-CLOCK"}, Domain::all, options);
  kill(child, SIGCONT);
  waitpid(child, nullptr, 0);
  const auto& counts = group.read();
  BOOST_TEST(counts[0].value.value() > 0U);
  BOOST_TEST(counts[0].value.value() < 5000U);
  BOOST_TEST(counts[1].value.value() > 0U);
}

BOOST_AUTO_TEST_CASE(a_cpu_counts_whoever_runs_there) {
  GroupOptions options;
  options.pid = -1;
  options.cpu = sched_getcpu();
  const std::string reason = message([&] { Group group({"perf::PAGE-FAULTS"}, Domain::all, options); });
  if (!reason.empty()) return skip(reason);
  cpu_set_t before, here;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&here);
  CPU_SET(static_cast<std::size_t>(options.cpu), &here);
  sched_setaffinity(0, sizeof here, &here);
  Group group({"perf::PAGE-FAULTS", "perf::CPU-CLOCK"}, Domain::all, options);
  group.start();
  in_fork(pages); // another process, not inherited, on the same CPU
  group.stop();
  sched_setaffinity(0, sizeof before, &before);
  BOOST_TEST(group.read()[0].value.value() >= pages);
  BOOST_TEST(group.read()[0].running_ns == group.read()[0].enabled_ns);
}

// What GroupOptions::pid says: a process id is that of one thread.
BOOST_AUTO_TEST_CASE(a_process_id_is_that_of_its_first_thread) {
  Target target([] {
    FreshPages(300).touch(0, 300);
    std::thread([] { FreshPages(3000).touch(0, 3000); }).join();
  });
  GroupOptions options;
  options.pid = target.pid();
  Group group({"perf::PAGE-FAULTS"}, Domain::all, options);
  Counters counters({"perf::PAGE-FAULTS"}, Domain::all, options);
  group.start();
  counters.start();
  target.go();
  target.join();
  for (const Count& count : {group.read()[0], counters.read()[0]}) {
    BOOST_TEST(count.value.value() >= 300U);
    BOOST_TEST(count.value.value() < 3000U);
  }
  BOOST_CHECK_THROW((void)group.fd(1), Error);
}

BOOST_AUTO_TEST_CASE(another_thread_of_this_process) {
  FreshPages memory(pages + 1);
  std::atomic<pid_t> id{0};
  std::atomic<int> step{0};
  std::thread worker([&] {
    memory.touch(0, 1);
    id = gettid();
    step.wait(0);
    memory.touch(1, pages + 1);
  });
  while (id == 0)
    std::this_thread::yield();
  GroupOptions options;
  options.pid = id;
  Group group({"perf::PAGE-FAULTS"}, Domain::all, options);
  group.start();
  step = 1;
  step.notify_all();
  worker.join();
  group.stop();
  BOOST_TEST(group.read()[0].value.value() >= pages);
  BOOST_TEST(group.read()[0].value.value() < 2 * pages);
}

namespace {

/// A thread that runs already and touches pages when told to.
class Worker {
public:
  explicit Worker(std::size_t amount) : memory_(amount + 1) {
    thread_ = std::thread([this, amount] {
      memory_.touch(0, 1);
      ready_ = true;
      step_.wait(0);
      memory_.touch(1, amount + 1);
    });
    while (!ready_)
      std::this_thread::yield();
  }
  void work() {
    step_ = 1;
    step_.notify_all();
    thread_.join();
  }

private:
  FreshPages memory_;
  std::atomic<bool> ready_{false};
  std::atomic<int> step_{0};
  std::thread thread_;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_whole_process_includes_threads_that_run_already) {
  for (const bool process : {true, false}) {
    Worker worker(5 * pages);
    GroupOptions options;
    options.process = process;
    Group group({"perf::PAGE-FAULTS:u", "perf::TASK-CLOCK:u"}, Domain::user, options);
    Counters counters({"perf::PAGE-FAULTS:u"}, Domain::user, options);
    group.start();
    counters.start();
    worker.work();
    FreshPages more(5 * pages);
    if (process) std::thread([&] { more.touch(0, 5 * pages); }).join();
    group.stop();
    counters.stop();
    for (const Count& count : {group.read()[0], counters.read()[0]}) {
      BOOST_TEST_REQUIRE(count.value.has_value());
      BOOST_TEST(count.reason.empty());
      if (process)
        BOOST_TEST(*count.value >= 10 * pages);
      else
        BOOST_TEST(*count.value < 5 * pages);
    }
  }
}

BOOST_AUTO_TEST_CASE(intervals_of_a_process_follow_one_another) {
  GroupOptions options;
  options.process = true;
  Counters counters({"perf::PAGE-FAULTS:u"}, Domain::user, options);
  FreshPages memory(pages);
  counters.start();
  memory.touch(0, pages);
  BOOST_TEST(counters.read_and_reset()[0].value.value() >= pages);
  counters.stop();
  BOOST_TEST(counters.read_and_reset()[0].value.value() < pages);
  BOOST_TEST(counters.read()[0].value.value() == 0U);
}

BOOST_AUTO_TEST_CASE(a_process_that_has_ended_is_named) {
  Target target([] {});
  GroupOptions options;
  options.process = true;
  options.pid = target.pid();
  target.go();
  target.join();
  BOOST_TEST(holds(message([&] { Group({"perf::PAGE-FAULTS"}, Domain::user, options); }), "no such process"));
  BOOST_TEST(
      holds(message([&] { Counters({"perf::PAGE-FAULTS"}, Domain::user, options); }), "no such process"));
}

BOOST_AUTO_TEST_CASE(all_cpus_count_other_processes) {
  GroupOptions options;
  options.all_cpus = true;
  std::optional<Group> group;
  try {
    group.emplace(Group({"perf::PAGE-FAULTS", "perf::CPU-CLOCK"}, Domain::all, options));
  } catch (const Error& error) {
    if (error.problem().code != ReasonCode::permission) throw;
    return skip(error.what());
  }
  Counters counters({"perf::PAGE-FAULTS"}, Domain::all, options);
  group->start();
  counters.start();
  on_each_cpu([] { in_fork(pages); });
  group->stop();
  counters.stop();
  const std::uint64_t touched = on_each_cpu([] {}) * pages;
  BOOST_TEST(group->read()[0].value.value() >= touched);
  BOOST_TEST(counters.read()[0].value.value() >= touched);
}

BOOST_AUTO_TEST_CASE(targets_that_contradict_one_another_are_refused) {
  GroupOptions both, on_cpu, cpus_of_process;
  both.process = both.all_cpus = true;
  on_cpu.process = true;
  on_cpu.cpu = 0;
  cpus_of_process.all_cpus = true;
  cpus_of_process.pid = getpid();
  for (const GroupOptions& options : {both, on_cpu, cpus_of_process}) {
    BOOST_CHECK_EXCEPTION(Group({"perf::PAGE-FAULTS"}, Domain::user, options), Error,
                          [](const Error& error) { return error.kind() == ErrorKind::bad_input; });
    BOOST_CHECK_THROW(Counters({"perf::PAGE-FAULTS"}, Domain::user, options), Error);
  }
}

BOOST_AUTO_TEST_SUITE_END()
