#include "model/trace/session.hpp"

#include "base/errno_fix.hpp"
#include "base/format.hpp"
#include "base/process/child.hpp"
#include "base/text.hpp"
#include "model/trace/gates.hpp"
#include "model/trace/reader.hpp"

#include <recount/error.hpp>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#ifndef RECOUNT_LIBEXEC
#define RECOUNT_LIBEXEC ""
#endif

namespace recount::trace {

namespace {

constexpr std::size_t memory_bytes = RT_PAGE + std::size_t{RT_SLOTS} * RT_SLOT_BYTES;
static_assert(sizeof(rt_header) <= RT_PAGE && sizeof(rt_slot) <= RT_PAGE);

template <class T>
std::atomic_ref<T> shared(T& word) {
  return std::atomic_ref<T>(word);
}

void futex_wait(std::uint32_t& word, std::uint32_t value, int patience_ms) {
  const timespec limit{patience_ms / 1000, patience_ms % 1000 * 1'000'000L};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}
void futex_wake(std::uint32_t& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

struct flock make_lock(off_t byte) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

/// Whether a process executes no more: it has ended, or nobody has waited for it yet.
bool dead(std::uint32_t pid) {
  const auto text = base::read_trimmed(fmt::format("/proc/{}/stat", pid));
  if (!text) return true;
  const auto name_end = text->rfind(')');
  if (name_end == text->npos || name_end + 2 >= text->size()) return false;
  const char state = (*text)[name_end + 2];
  return state == 'Z' || state == 'X';
}

[[noreturn]] void fail(const std::string& what) {
  const char* const fix = errno == ENOMEM  ? "ulimit -v unlimited"
                          : errno == EFBIG ? "ulimit -f unlimited"
                                           : base::errno_fix(errno);
  throw unavailable("recount-trace", what + ": " + std::strerror(errno), {}, fix);
}

/// A file in memory without a name: nothing of it stays behind. One thread reads.
class Channel {
public:
  using Begin = Session::Begin;
  using End = Session::End;

  /// Throws recount::Error (unavailable).
  Channel() : file_(::memfd_create("recount-trace", MFD_CLOEXEC)) {
    if (!file_) fail("no memory to share with the program");
    if (::ftruncate(file_.get(), memory_bytes) != 0) fail("no memory to share with the program");
    memory_ =
        ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
    if (memory_ == MAP_FAILED) fail("cannot map the memory shared with the program");
    header().version = RT_VERSION;
    struct flock lock = make_lock(RT_RECOUNT);
    if (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) fail("cannot lock the memory shared with the program");
  }
  ~Channel() {
    close();
    ::munmap(memory_, memory_bytes);
  }

  /// "PID:FD:INODE" for the tool.
  [[nodiscard]] std::string name() const {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) fail("cannot name the memory shared with the program");
    return fmt::format("{}:{}:{}", ::getpid(), file_.get(), status.st_ino);
  }

  /// Reads what there is, waiting up to `patience_ms` for more. False: nothing came.
  bool read(const Begin& begin, const End& end, int patience_ms) {
    const std::uint32_t rings = shared(header().doorbell).load();
    const bool any = read_all(begin, end);
    if (answer(end) || any) return true;
    shared(header().listening).store(1);
    if (shared(header().doorbell).load() == rings) futex_wait(header().doorbell, rings, patience_ms);
    shared(header().listening).store(0);
    if (shared(header().doorbell).load() != rings) return true;
    return end_dead(end);
  }
  /// Ends the wait of a read() by another thread.
  void wake() const {
    shared(header().doorbell).fetch_add(1);
    futex_wake(header().doorbell);
  }
  /// After the command has ended: reads the rest; descendants that still run are traced no longer. Their
  /// number.
  int finish(const Begin& begin, const End& end) {
    read_all(begin, end);
    end_dead(end);
    close();
    int running = 0;
    for (std::uint32_t number = 0; number < RT_SLOTS; ++number) {
      if (!processes_[number].reader) continue;
      if (shared(header().states[number]).load() == RT_LIVE) ++running;
      end_process(number, end);
    }
    return running;
  }
  /// Makes the traced processes run on without being traced.
  void close() {
    shared(header().closed).store(1);
    for (std::uint32_t number = 0; number < RT_SLOTS; ++number)
      if (processes_[number].reader) futex_wake(slot(number).tail);
  }

  [[nodiscard]] rt_header& header() const { return *static_cast<rt_header*>(memory_); }

  int damaged = 0; ///< processes whose words were damaged, by the program itself
  int lost = 0;    ///< that went on with another program, in which the tool did not begin
  int killed = 0;  ///< that ended without the tool: by SIGKILL, or because Valgrind gave up

private:
  struct Process {
    std::unique_ptr<Reader> reader;
    std::uint32_t pid = 0, tail = 0; ///< tail: not taken from shared memory, where a stray store may hit
    std::uint32_t own_pid = 0;       ///< in its own PID namespace
    bool damaged = false;
    bool requested = false; ///< it waited for an answer in the round before
  };
  /// How far a process is; RT_FREE: it was not yet there.
  struct Moment {
    std::uint32_t state = RT_FREE, head = 0;
  };

  [[nodiscard]] rt_slot& slot(std::uint32_t number) const {
    return *reinterpret_cast<rt_slot*>(static_cast<char*>(memory_) + RT_PAGE +
                                       std::size_t{number} * RT_SLOT_BYTES);
  }
  [[nodiscard]] const std::uint64_t* draft(std::uint32_t number) const {
    return reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(&slot(number)) + RT_PAGE);
  }
  [[nodiscard]] const std::uint64_t* chunk(std::uint32_t number, std::uint32_t at) const {
    return draft(number) + std::size_t{1 + at % RT_CHUNKS} * RT_CHUNK_WORDS;
  }
  /// The process that has locked a slot, as this process knows it; it lives. 0: not known.
  [[nodiscard]] std::uint32_t find_owner(std::uint32_t number) const {
    struct flock lock = make_lock(RT_PROCESS + static_cast<off_t>(number));
    const bool found = ::fcntl(file_.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
    return found ? static_cast<std::uint32_t>(lock.l_pid) : 0;
  }
  void take(std::uint32_t number, const std::uint64_t* words, std::uint64_t count) {
    Process& process = processes_[number];
    if (!process.damaged && (count > RT_CHUNK_WORDS || !process.reader->take({words, count}))) damage(number);
  }
  void damage(std::uint32_t number) {
    if (std::exchange(processes_[number].damaged, true)) return;
    ++damaged;
    shared(slot(number).answered).fetch_add(1U << 30U); // no request is answered any more
    futex_wake(slot(number).answered);
  }
  /// Chunks up to a number of publications: one round of the ring, so that every process has its turn.
  bool consume(std::uint32_t number, std::uint32_t upto) {
    rt_slot& process_slot = slot(number);
    std::uint32_t& tail = processes_[number].tail;
    if (upto - tail > RT_CHUNKS) {
      const std::uint32_t head = shared(process_slot.head).load();
      if (head - tail <= RT_CHUNKS) return false; // more was read meanwhile, as a fork needed it
      damage(number);                             // overwritten: the process runs on as if all had been read
      tail = head;
      shared(process_slot.tail).store(tail);
      futex_wake(process_slot.tail);
      return true;
    }
    const bool any = tail != upto;
    for (; tail != upto; ++tail) {
      take(number, chunk(number, tail), shared(process_slot.lengths[tail % RT_CHUNKS]).load());
      shared(process_slot.tail).store(tail + 1);
      // Not for each chunk: the tool would wait again after it.
      if (shared(process_slot.waiting).load() != 0 &&
          shared(process_slot.head).load() - (tail + 1) <= RT_CHUNKS / 2)
        futex_wake(process_slot.tail);
    }
    return any;
  }
  /// What a process that was killed had not published.
  void take_rest(std::uint32_t number) {
    const rt_slot& process_slot = slot(number);
    const std::uint64_t words = process_slot.position >= process_slot.base
                                    ? (process_slot.position - process_slot.base) / sizeof(std::uint64_t)
                                    : 0;
    const Process& process = processes_[number];
    // The last words may be part of a record: this is no damage.
    if (!process.damaged && words <= RT_CHUNK_WORDS)
      static_cast<void>(process.reader->take({draft(number), static_cast<std::size_t>(words)}));
  }
  void end_process(std::uint32_t number, const End& end) {
    consume(number, shared(slot(number).head).load());
    end(*processes_[number].reader);
    processes_[number] = {};
    ::madvise(&slot(number), RT_SLOT_BYTES, MADV_REMOVE);
    shared(header().states[number]).store(RT_FREE);
  }
  void begin_process(std::uint32_t number, const Begin& begin, const End& end) {
    const rt_slot& process_slot = slot(number);
    const std::uint32_t owner = find_owner(number), pid = owner != 0 ? owner : process_slot.pid,
                        parent = process_slot.parent, parent_pid = process_slot.parent_pid;
    const auto executed_this =
        [&](std::uint32_t other) { // in another PID namespace, the lock tells its PID, but not yet
          return processes_[other].own_pid == process_slot.pid && shared(slot(other).executing).load() != 0;
        };
    for (std::uint32_t other = 0; other < RT_SLOTS; ++other) // before execve(2), which began this one
      if (processes_[other].reader && (processes_[other].pid == pid || executed_this(other)))
        end_process(other, end);
    const bool forked = parent > 0 && parent <= RT_SLOTS;
    if (forked && processes_[parent - 1].reader && processes_[parent - 1].own_pid == parent_pid) {
      const std::uint32_t missing = process_slot.parent_head - processes_[parent - 1].tail;
      if (missing <= RT_CHUNKS) consume(parent - 1, process_slot.parent_head);
      processes_[number].reader = processes_[parent - 1].reader->forked(pid);
    } else {
      processes_[number].reader = begin(pid, forked ? parent_pid : 0);
    }
    processes_[number].pid = pid;
    processes_[number].own_pid = process_slot.pid;
  }
  bool read_slot(std::uint32_t number, const Moment& upto, const End& end) {
    if (!processes_[number].reader) return false;
    const bool any = consume(number, upto.head);
    if (upto.state == RT_ENDED) end_process(number, end);
    return any || upto.state == RT_ENDED;
  }
  /// How far each process is, is taken before new ones are looked for: what a process did after it had waited
  /// for a child is not simulated before the child begins with its caches.
  bool read_all(const Begin& begin, const End& end) {
    bool any = false;
    const std::uint32_t slots = std::min<std::uint32_t>(shared(header().slots).load(), RT_SLOTS);
    std::array<Moment, RT_SLOTS> upto{};
    for (std::uint32_t number = 0; number < slots; ++number)
      if (processes_[number].reader)
        upto[number] = {shared(header().states[number]).load(), shared(slot(number).head).load()};
    for (std::uint32_t number = 0; number < std::min<std::uint32_t>(shared(header().slots).load(), RT_SLOTS);
         ++number) {
      const std::uint32_t state = shared(header().states[number]).load();
      if (processes_[number].reader || (state != RT_LIVE && state != RT_ENDED)) continue;
      begin_process(number, begin, end);
      upto[number] = {}; // of one that had the slot before
      any = true;
    }
    for (std::uint32_t number = 0; number < slots; ++number)
      if (upto[number].state != RT_FREE) any = read_slot(number, upto[number], end) || any;
    return any;
  }
  /// What a process did before its request is read in the round after the request at the latest.
  bool answer(const End& end) {
    bool any = false, ended = false;
    const std::uint32_t slots = std::min<std::uint32_t>(shared(header().slots).load(), RT_SLOTS);
    for (std::uint32_t number = 0; number < slots; ++number) {
      Process& process = processes_[number];
      if (!process.reader || !process.reader->waits()) continue;
      any = true;
      if (!std::exchange(process.requested, true)) continue;
      if (!ended) end_dead(end); // killed ones that nobody has ended yet
      ended = true;
      const auto countdown = process.reader->answer();
      if (!countdown) continue;
      process.requested = false;
      std::ranges::copy(countdown->left, slot(number).left);
      slot(number).answer = countdown->answer;
      slot(number).reading = countdown->reading;
      shared(slot(number).answered).fetch_add(1);
      futex_wake(slot(number).answered);
    }
    return any;
  }
  bool end_dead(const End& end) {
    bool any = false;
    for (std::uint32_t number = 0; number < RT_SLOTS; ++number) {
      // One that waits was alive just now, and is looked at after the answer.
      const Process& process = processes_[number];
      if (!process.reader || process.reader->waits() || find_owner(number) == process.pid ||
          !dead(process.pid))
        continue;
      consume(number, shared(slot(number).head).load());
      if (shared(header().states[number]).load() == RT_LIVE) {
        take_rest(number);
        ++(shared(slot(number).executing).load() != 0 ? lost : killed);
      }
      end_process(number, end);
      any = true;
    }
    return any;
  }

  process::Fd file_;
  void* memory_ = nullptr;
  std::array<Process, RT_SLOTS> processes_;
};

} // namespace

struct Session::Memory : Channel {};

Session::Session(Begin begin, End end)
    : begin_([this, begin = std::move(begin)](std::uint32_t pid, std::uint32_t parent) {
        ++begun_;
        return begin(pid, parent);
      }),
      end_(std::move(end)),
      channel_(std::make_unique<Memory>()),
      thread_([this] { read(); }) {}

Session::~Session() {
  join();
}

std::string Session::channel() const {
  return channel_->name();
}

void Session::join() {
  ended_ = true;
  channel_->wake();
  if (thread_.joinable()) thread_.join();
}

void Session::read() {
  constexpr int patience_ms = 50;
  try {
    while (!ended_)
      channel_->read(begin_, end_, patience_ms);
    outlived_ = channel_->finish(begin_, end_);
  } catch (...) {
    failed_ = std::current_exception();
    channel_->close(); // the program runs on
  }
}

void Session::finish() {
  join();
  if (failed_) std::rethrow_exception(failed_);
  if (begun_ > 0) return;
  const char* const folder = std::getenv("TMPDIR"); // Valgrind keeps files there
  throw unavailable("valgrind", "ended before the program began: nothing was simulated",
                    folder ? "TMPDIR = " + std::string(folder) : std::string(),
                    folder ? "unset TMPDIR" : "see what valgrind printed above");
}

namespace {

template <class Number>
std::string processes(Number number) {
  return base::format_count(number, "of its processes was", "of its processes were");
}

} // namespace

std::string Session::unsimulated() const {
  if (const auto untraced = shared(channel_->header().untraced).load(); untraced > 0)
    return fmt::format("{} not simulated: there are more than {} at a time, or a limit of memory (ulimit -v)",
                       processes(untraced), static_cast<int>(RT_SLOTS));
  if (channel_->damaged > 0) return "the program has overwritten the memory of the simulation";
  if (channel_->lost > 0)
    return fmt::format("{} not simulated: Valgrind could not start there (memory limits, chroot, no /proc, a "
                       "program that executes /proc/self/exe); "
                       "fix: count that program by itself",
                       processes(channel_->lost));
  return {};
}

std::string Session::missing(const process::Exit& exit) const {
  const int itself = exit.how == process::Exit::How::signalled ? 1 : 0;
  if (std::string why = unsimulated(); !why.empty() || channel_->killed <= itself) return why;
  return fmt::format("{} not simulated to the end: killed, or given up by Valgrind",
                     processes(channel_->killed));
}

std::string Session::doubts() const {
  std::vector<std::string> all;
  if (outlived_ > 0)
    all.push_back(base::format_count(outlived_, "descendant") +
                  " still ran when the command ended: simulated up to then");
  if (shared(channel_->header().refused_programs).load() > 0)
    all.emplace_back(
        "Valgrind does not execute set-user-ID programs: without one, the command may go another way");
  if (const auto refused = shared(channel_->header().refused_mappings).load(); refused > 0)
    all.push_back(fmt::format("Valgrind has no room for {} of 64 GiB or more: the program may go another way",
                              base::format_count(refused, "mapping")));
  return fmt::format("{}", fmt::join(all, "; "));
}

std::vector<std::filesystem::path> helper_folders(const char* built) {
  std::vector<std::filesystem::path> all;
  if (const char* const stated = std::getenv("RECOUNT_LIBEXEC")) all.emplace_back(stated);
  const auto here = std::filesystem::path(process::this_program()).parent_path();
  all.insert(all.end(), {here / built, here / "../libexec/recount", RECOUNT_LIBEXEC});
  std::erase_if(all, [](const auto& folder) { return folder.empty(); }); // it would be the current one
  return all;
}

namespace {

#if defined(__x86_64__)
constexpr const char* tool_file = "recount-trace-amd64-linux";
constexpr unsigned char elf_class = ELFCLASS64;
constexpr Elf64_Half elf_machine = EM_X86_64;
#else
constexpr const char* tool_file = "recount-trace-arm64-linux";
constexpr unsigned char elf_class = ELFCLASS64;
constexpr Elf64_Half elf_machine = EM_AARCH64;
#endif

std::optional<std::string> tool_folder() {
  for (const std::filesystem::path& folder : helper_folders("model/trace"))
    if (::access((folder / tool_file).c_str(), X_OK) == 0) return folder;
  return {};
}

/// What starts Valgrind again for programs that the program executes: not Debian's script, which changes
/// their environment.
std::optional<std::string> launcher() {
  const auto found = process::find_program("valgrind");
  if (!found) return {};
  return process::find_program(*found + ".bin").value_or(*found);
}

/// Why Valgrind cannot execute a program file; empty: it can.
std::string unexecutable(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::strerror(errno);
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "it is set-user-ID or set-group-ID, which Valgrind does not execute";
  Elf64_Ehdr head{};
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&head), sizeof head);
  if (!in || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return {}; // a script, or nothing at all
  if (head.e_ident[EI_CLASS] != elf_class || head.e_machine != elf_machine)
    return "it is a program of another architecture than recount (or of 32 bits)";
  return {};
}

} // namespace

bool under_valgrind() {
#if __has_include(<valgrind/valgrind.h>)
  return RUNNING_ON_VALGRIND != 0;
#else
  return false;
#endif
}

std::string untraceable() {
  if (under_valgrind()) return "recount runs under Valgrind itself here, as in recount emulate --exact";
  if (!launcher()) return "valgrind is not installed, or not in PATH";
  if (!tool_folder()) return "this recount was built without its Valgrind tool, recount-trace";
  return {};
}

std::string unexecuted(const std::optional<Undecoded>& last, const process::Exit& exit) {
  constexpr int shell_signal = 128;
  const bool illegal = exit.how == process::Exit::How::signalled
                           ? exit.code == SIGILL
                           : exit.how == process::Exit::How::exited && exit.code == shell_signal + SIGILL;
  if (!last || !illegal) return {};
  constexpr unsigned char evex = 0x62; // the prefix of AVX-512 in 64-bit mode
  const bool wide = last->code[0] == evex;
  return fmt::format("the program executes {} instruction, at {:#x}, that Valgrind cannot execute; fix: {}",
                     wide ? "an AVX-512" : "an", last->address,
                     wide ? "compile it with -march=x86-64-v3" : "compile it for an older CPU");
}

ToolCommand tool_command(const std::vector<std::string>& command, const ToolOptions& options) {
  if (const std::string why = untraceable(); !why.empty())
    throw unavailable(options.subject, "a program is simulated with Valgrind's help: " + why, {},
                      launcher() && tool_folder()
                          ? "start this recount without Valgrind"
                          : "apt-get install valgrind, then build recount again if it was built without");
  const auto file = process::find_program(command.front());
  if (!file) {
    constexpr int not_executable = 126;
    const bool exists =
        ::access(command.front().c_str(), F_OK) == 0 && command.front().find('/') != std::string::npos;
    if (!exists) throw process::not_found(command.front());
    throw process::CannotRun(unavailable(command.front(), "cannot be executed"), not_executable);
  }
  if (const std::string why = unexecutable(*file); !why.empty())
    throw unavailable(options.subject, command.front() + ": " + why, {},
                      "count it without " + options.subject);
  const std::string folder = *tool_folder();
  ToolCommand tool;
  tool.argv = {folder + "/" + tool_file,  "--tool=recount-trace",
               "--command-line-only=yes", "-q",
               "--log-file=/dev/null",    "--vgdb=no",
               "--trace-children=yes",    "--channel=" + options.channel};
  if (options.sections) tool.argv.push_back(fmt::format("--sections={}", process::free_descriptor()));
  if (options.objects) tool.argv.emplace_back("--objects=yes");
  if (options.code) tool.argv.emplace_back("--code=yes");
  if (options.clock) tool.argv.emplace_back("--clock=yes");
  for (const std::string& leaf : options.cpuid)
    tool.argv.push_back("--cpuid=" + leaf);
  // VEX executes the second part of `a && b` in advance, where it may, and unrolls loops; without
  // register-updates it drops loads whose value is overwritten unused. By default, the thread that yields may
  // get Valgrind's lock back each time: for ever after RT_BUSY, as recount waits for another one.
  if (options.exact)
    tool.argv.insert(tool.argv.end(),
                     {"--vex-guest-chase=no", "--vex-iropt-unroll-thresh=0",
                      "--vex-iropt-register-updates=allregs-at-each-insn", "--fair-sched=try"});
  tool.argv.insert(tool.argv.end(), command.begin(), command.end());
  tool.environment = {{"VALGRIND_LAUNCHER", *launcher()}, {"VALGRIND_LIB", folder}};
  if (options.sections)
    tool.environment.emplace_back(base::sections_variable, std::to_string(process::free_descriptor()));
  return tool;
}

} // namespace recount::trace
