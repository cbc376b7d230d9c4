#include "result/results_file.hpp"

#include "base/format.hpp"
#include "base/output_file.hpp"
#include "result/observation.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_set>

namespace recount::result {
namespace {

/// Lines that follow one another have much in common: the value is shared where it is equal.
template <class T>
void share(Shared<T>& value, const Shared<T>& previous) {
  if (value == previous) value = previous;
}

/// Gathers lines one after the other, whatever they come from.
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
  /// What distinguishes an observation from others.
  static std::string identity(const Observation& o) {
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", o.run, o.kernel, describe(o.params), o.witness, o.metric,
                       o.repetition);
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
      share(o.nesting, previous.nesting);
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

const Run* Results::run(const std::string& id) const {
  for (const auto& run : runs)
    if (run.id == id) return &run;
  return nullptr;
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
      throw bad_input(path_, "another recount writes to it", "wait for it, or choose another -o FILE");
    if (::fstat(fd_, &status) != 0) throw base::cannot_write(path_, errno);
    if (mode == Mode::create && status.st_size > 0 && !holds_nothing(path_))
      throw bad_input(path_, "exists already, and results are never overwritten",
                      std::string(resume == Resume::possible ? "resume it with --resume, or " : "") +
                          "choose another -o FILE");
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
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const bool small = regular && status.st_size < static_cast<off_t>(longest_line);
  std::string text(small ? static_cast<std::size_t>(status.st_size) : 0, '\0');
  const bool got = small && ::pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!got || text.find('\n') != text.npos) return false;
  const std::string_view header = R"({"type":"run","schema":"recount-results/)";
  return text.substr(0, header.size()) == header.substr(0, text.size());
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

} // namespace recount::result
