#include "run/result/results_file.hpp"

#include "base/format.hpp"
#include "base/host/job.hpp"
#include "base/output_file.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>
#include <utility>

namespace recount::result {
namespace {

/// A fix for the tasks of an MPI or batch job, which all have the same -o; empty: a single task.
std::string file_of_each_task(const std::string& path) {
  if (host::this_job().tasks < 2) return {};
  const auto dot = path.rfind('.'), slash = path.rfind('/');
  const bool suffix = dot != path.npos && dot > 0 && (slash == path.npos || dot > slash + 1);
  const std::size_t end = suffix ? dot : path.size();
  return ", one for each task: -o " + path.substr(0, end) + "-{task}" + path.substr(end);
}

/// Lines that follow one another have much in common: the value is shared where it is equal.
template <class T>
void share(Shared<T>& value, const Shared<T>& previous) {
  if (value == previous) value = previous;
}

/// Parses the lines of one or several files. Call file(), line() per line, end().
class Gatherer {
public:
  explicit Gatherer(Results& into) : into_(into) {}

  void file(std::string name) {
    name_ = std::move(name);
    number_ = repeated_ = 0;
    unmatched_.clear();
    headed_ = false;
  }

  /// `whole`: ended with a newline. Only the last line of a file may be torn.
  void line(std::string_view text, bool whole) {
    ++number_;
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (text.empty()) return;
    const std::string where = fmt::format("{}:{}", name_, number_);
    try {
      take(parse_line(text, where), where);
    } catch (const Error&) {
      if (whole || !headed_) throw;
      into_.warnings.push_back(where + ": the last line is incomplete and was ignored");
    }
  }

  void end() {
    if (number_ == 0) throw bad_input(name_, "is empty");
    for (const auto& [id, where] : unmatched_)
      if (!known_.contains(id))
        throw bad_input(where, "no header line of run \"" + id.substr(0, 80) + "\" in the file",
                        "keep the lines of type run when you split or merge files");
    if (repeated_ > 0)
      into_.warnings.push_back(
          fmt::format("{}: {} more than once; the first one is used", name_,
                      base::format_count(repeated_, "observation occurs", "observations occur")));
  }

private:
  /// What distinguishes an observation from others. With lengths, as texts can hold anything.
  static std::string identity(const Observation& o) {
    std::string all = fmt::format("{}", o.repetition);
    const auto add = [&](char kind, std::string_view text) {
      fmt::format_to(std::back_inserter(all), "{}{}:{}", kind, text.size(), text);
    };
    for (const std::string_view text :
         {std::string_view(o.run.get()), std::string_view(o.kernel), std::string_view(o.metric)})
      add('t', text);
    add('w', o.witness.name());
    for (const auto& [name, value] : o.params.get()) {
      add('p', name);
      add(value.index() == 0 ? 'n' : 't', result::text(value));
    }
    return all;
  }

  void add(Observation&& o) {
    if (!seen_.insert(identity(o)).second) {
      ++repeated_;
      return;
    }
    if (!into_.observations.empty()) {
      const Observation& previous = into_.observations.back();
      share(o.run, previous.run);
      share(o.params, previous.params);
      share(o.reason, previous.reason);
      share(o.unit, previous.unit);
      share(o.placement, previous.placement);
    }
    into_.observations.push_back(std::move(o));
  }

  void take(Line&& line, const std::string& where) {
    if (auto* run = std::get_if<Run>(&line)) {
      headed_ = true;
      if (known_.insert(run->id).second) into_.runs.push_back(std::move(*run));
      return;
    }
    if (!headed_ && number_ == 1)
      throw bad_input(where, "a results file starts with a line of type run",
                      "keep the lines of type run when you split or merge files");
    if (auto* observation = std::get_if<Observation>(&line)) {
      match(observation->run, where);
      add(std::move(*observation));
    } else if (auto* section = std::get_if<Section>(&line)) {
      match(section->run, where);
      into_.sections.push_back(std::move(*section));
    } else {
      match(std::get<Failure>(line).run, where);
      into_.failures.push_back(std::move(std::get<Failure>(line)));
    }
  }

  void match(const std::string& id, const std::string& where) {
    if (!known_.contains(id)) unmatched_.try_emplace(id, where); // its header may come later
  }

  Results& into_;
  std::string name_;
  std::size_t number_ = 0, repeated_ = 0;
  bool headed_ = false;
  std::unordered_set<std::string> known_, seen_; ///< runs; observations
  std::map<std::string, std::string> unmatched_;
};

void gather(Gatherer& gatherer, const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) throw bad_input(path, std::string("cannot be read: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode))
    throw bad_input(path, "is a directory, not a results file");
  gatherer.file(path);
  std::string line;
  char block[1 << 16];
  std::size_t number = 1;
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) {
    std::string_view rest(block, got);
    for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      line.append(rest.substr(0, end));
      gatherer.line(line, true);
      line.clear();
      ++number;
    }
    line.append(rest);
    if (line.size() > longest_line)
      throw bad_input(fmt::format("{}:{}", path, number),
                      fmt::format("the line is longer than {} bytes: this is not a results file of recount",
                                  longest_line));
  }
  if (std::ferror(file.get())) throw bad_input(path, std::string("cannot be read: ") + std::strerror(errno));
  if (!line.empty()) gatherer.line(line, false);
  gatherer.end();
}

} // namespace

std::unordered_map<std::string, const Run*> Results::runs_by_id() const {
  std::unordered_map<std::string, const Run*> by_id;
  for (const Run& run : runs)
    by_id.try_emplace(run.id, &run);
  return by_id;
}

Results read(const std::string& path) {
  return read(std::vector<std::string>{path});
}

Results read(const std::vector<std::string>& paths) {
  Results all;
  Gatherer gatherer(all);
  for (const auto& path : paths)
    gather(gatherer, path);
  return all;
}

Results read_text(std::string_view text, const std::string& name) {
  Results all;
  Gatherer gatherer(all);
  gatherer.file(name);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    gatherer.line(text.substr(0, end), end != text.npos);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  gatherer.end();
  return all;
}

namespace {

/// Length of the file up to and with its last newline.
off_t whole_lines(int fd, off_t size) {
  char block[1 << 16];
  while (size > 0) {
    const auto want = static_cast<std::size_t>(std::min<off_t>(size, sizeof block));
    const ssize_t got = ::pread(fd, block, want, size - static_cast<off_t>(want));
    if (got != static_cast<ssize_t>(want)) return size; // unreadable: cut nothing
    if (const void* found = ::memrchr(block, '\n', want))
      return size - static_cast<off_t>(want) + (static_cast<const char*>(found) - block) + 1;
    size -= static_cast<off_t>(want);
  }
  return 0;
}

} // namespace

Writer::Writer(std::string path, Mode mode, Resume resume) : path_(std::move(path)) {
  std::signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is then an error of write(2), not a death
  if (path_ == "-") {
    fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  } else {
    if (mode == Mode::append) static_cast<void>(read(path_)); // never cut a file that is not ours
    fd_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EISDIR) // a pipe or a device may be writable only
      fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) throw base::cannot_write(path_, errno);
  struct stat status {};
  regular_ = path_ != "-" && ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular_) return;
  try {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      throw bad_input(path_, "another recount writes to it",
                      "wait for it, or choose another -o FILE" + file_of_each_task(path_));
    if (::fstat(fd_, &status) != 0) throw base::cannot_write(path_, errno);
    if (mode == Mode::create && status.st_size > 0 && !holds_nothing(path_))
      throw bad_input(path_, "exists already, and results are never overwritten",
                      std::string(resume == Resume::possible ? "resume it with --resume, or " : "") +
                          "choose another -o FILE" + file_of_each_task(path_));
    const off_t whole = whole_lines(fd_, status.st_size);
    if (whole != status.st_size && ::ftruncate(fd_, whole) != 0) throw base::cannot_write(path_, errno);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

bool holds_nothing(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT;
  struct stat status {};
  const bool lineless =
      ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && whole_lines(fd, status.st_size) == 0;
  const std::string_view header = R"({"type":"run","schema":"recount-results/)";
  std::string begin(header.size(), '\0');
  const ssize_t got = lineless ? ::pread(fd, begin.data(), begin.size(), 0) : -1;
  ::close(fd);
  return got >= 0 &&
         begin.substr(0, static_cast<std::size_t>(got)) == header.substr(0, static_cast<std::size_t>(got));
}

Writer::~Writer() {
  if (fd_ >= 0) ::close(fd_);
}

void Writer::append(const std::string& line) {
  const std::string text = line + '\n';
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(fd_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      struct stat status {};
      if (regular_ && written > 0 && ::fstat(fd_, &status) == 0) // take back the torn line
        static_cast<void>(::ftruncate(fd_, status.st_size - static_cast<off_t>(written)) == 0);
      throw base::cannot_write(path_, error);
    }
    written += static_cast<std::size_t>(n);
  }
}

namespace {

/// The first run of its plan, by run. A run that resumes belongs to the plan that it resumes; shards with an
/// equal plan and `machine` share one. A resumed run precedes the runs that resume it.
std::map<std::string, std::string> first_runs(const Results& results,
                                              const std::function<std::string(const Run&)>& machine) {
  std::map<std::string, std::string> first,
      tables; // tables: published ones, with the first that resumes each
  std::map<std::pair<std::map<std::string, std::string>, std::string>, std::string> of_shards;
  for (const Run& run : results.runs) {
    if (run.versions.contains("published")) tables.try_emplace(run.id);
    const auto earlier = first.find(run.resumes);
    first[run.id] = earlier == first.end() ? run.id : earlier->second;
    if (const auto table = tables.find(run.resumes); table != tables.end()) { // of another machine
      if (table->second.empty()) table->second = run.id;
      first[run.id] = table->second;
    }
    auto plan = run.plan;
    if (plan.erase("shard") > 0)
      first[run.id] = of_shards.try_emplace({std::move(plan), machine(run)}, first[run.id]).first->second;
  }
  return first;
}

/// The repetitions of each planned name, by first run. Runs of one plan may repeat names: the greatest number
/// counts, not the sum.
std::map<std::string, std::map<std::string, std::int64_t>>
plans_of(const Results& results, const std::map<std::string, std::string>& first) {
  std::map<std::string, std::map<std::string, std::int64_t>> plans;
  for (const Run& run : results.runs) {
    if (run.runs_planned == 0) continue;
    for (const auto& [name, repetitions] : run.planned) {
      std::int64_t& most = plans[first.at(run.id)][name];
      most = std::max(most, repetitions);
    }
  }
  return plans;
}

} // namespace

std::string planned_name(const Witness& witness, const std::string& kernel, const Params& params) {
  return fmt::format("{} {} {}", witness, kernel, describe(params));
}

std::vector<Incomplete> incomplete(const Results& results) {
  const auto first = first_runs(results, [](const Run&) { return ""; });
  const auto plans = plans_of(results, first);
  if (plans.empty()) return {};
  using Done = std::set<std::pair<std::string, int>>; // names with repetitions
  std::map<std::string, Done> done;
  const auto take = [&](const std::string& run, const auto& line) {
    const auto at = first.find(run);
    if (at == first.end() || !plans.contains(at->second)) return;
    done[at->second].emplace(planned_name(line.witness, line.kernel, line.params), line.repetition);
  };
  for (const Observation& o : results.observations)
    take(o.run, o);
  for (const Failure& f : results.failures)
    take(f.run, f);
  std::vector<Incomplete> all;
  for (const auto& [id, planned] : plans) {
    Incomplete study;
    std::map<std::string, std::int64_t> done_repetitions;
    for (const auto& [name, repetition] : done[id])
      ++done_repetitions[name];
    for (const auto& [name, repetitions] : planned) {
      study.planned += static_cast<std::size_t>(repetitions);
      const std::int64_t have = std::min(done_repetitions[name], repetitions);
      study.done += static_cast<std::size_t>(have);
      if (have < repetitions)
        study.missing.push_back(fmt::format("{} ({} of {})", name, repetitions - have, repetitions));
    }
    if (!study.missing.empty()) all.push_back(std::move(study));
  }
  return all;
}

std::string describe(const Incomplete& study) {
  constexpr std::size_t most = 8;
  const std::size_t named = std::min(most, study.missing.size());
  std::string text = fmt::format(
      "Incomplete: {} of {}; missing: {}", study.done, base::format_count(study.planned, "run"),
      fmt::join(study.missing.begin(), study.missing.begin() + static_cast<std::ptrdiff_t>(named), "; "));
  if (study.missing.size() > named) text += fmt::format("; and {} more", study.missing.size() - named);
  return text + ". What was not run allows no conclusion.";
}

void join_shards(Results& results) {
  std::set<std::string> measured; // runs with a value that depends on the machine
  for (const Observation& o : results.observations)
    if (!o.witness.described_machine()) measured.insert(o.run);
  const auto first = first_runs(results, [&](const Run& run) {
    return measured.contains(run.id) ? run.host + "\n" + run.cpu : std::string();
  });
  std::map<std::string, Shared<std::string>> ids; // a copy for all observations of a run
  for (const auto& [id, name] : first)
    ids.try_emplace(name, name);
  for (Observation& o : results.observations)
    if (const auto found = first.find(o.run); found != first.end()) o.run = ids.at(found->second);
  for (Failure& f : results.failures)
    if (const auto found = first.find(f.run); found != first.end()) f.run = found->second;
}

} // namespace recount::result
