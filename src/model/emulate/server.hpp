// Counts what the processes of an emulation execute, as the Valgrind tool reports it, into the shared slots.
#pragma once

#include "model/emulate/accounting.hpp"
#include "model/emulate/simulated_caches.hpp"
#include "model/trace/decoder.hpp"
#include "model/trace/executed.hpp"
#include "model/trace/reader.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace recount::emulate {

/// How many of each quantity one execution of a block of code is.
using BlockWork = std::vector<std::pair<std::uint8_t, std::uint32_t>>;

/// The instruction with which an execution of a block ends.
struct BlockEnd {
  std::uint64_t address = 0;
  std::uint8_t bytes = 0, flow = RT_PLAIN; ///< flow: RT_CONDITIONAL ...
  bool indirect = false;                   ///< a computed jump or call
};

/// Where a block is, in few bytes: every execution reads it, and programs have tens of thousands of blocks.
struct BlockPlace {
  std::uint64_t start = 0;
  BlockEnd end;
  std::uint8_t lines = 0; ///< of code, from that of `start` on; `scattered`: those of BlockWorks::lines()
  static constexpr std::uint8_t scattered = 0;
};

/// The blocks of all processes. Not thread-safe.
class BlockWorks {
public:
  trace::Blocks blocks;
  [[nodiscard]] std::size_t number(const trace::Blocks::Block& block) const {
    return static_cast<std::size_t>(&block - blocks.defined().data());
  }
  /// Of a block that is defined.
  [[nodiscard]] const BlockWork& of(std::size_t number) const { return works_[number]; }
  [[nodiscard]] const BlockPlace& place(std::size_t number) const { return places_[number]; }
  /// Lines of code of a block that is scattered; none of another one.
  [[nodiscard]] std::span<const std::uint64_t> lines(std::size_t number) const {
    const auto found = lines_.find(number);
    if (found == lines_.end()) return {};
    return found->second;
  }
  [[nodiscard]] BlockEnd end_at(std::uint32_t instruction, bool indirect) const {
    const auto& last = blocks.instruction(instruction);
    return {last.address, last.bytes, last.flow, indirect};
  }
  void grow() {
    if (works_.size() >= blocks.defined().size()) return;
    works_.resize(blocks.defined().size());
    places_.resize(works_.size());
  }
  /// RT_CODE. False: damaged.
  [[nodiscard]] bool define(std::span<const std::uint64_t> words);
  void forget(std::uint64_t number);
  /// What the instructions of a block after the first `count` would have added.
  [[nodiscard]] Work after(std::size_t number, unsigned count) const;

private:
  void add_instruction(BlockWork& work, std::uint32_t instruction) const;
  void locate(std::size_t number, const trace::Blocks::Block& block, bool indirect);
  std::vector<BlockWork> works_;
  std::vector<BlockPlace> places_;                          ///< parallel to works_
  std::map<std::size_t, std::vector<std::uint64_t>> lines_; ///< of those that are scattered
  std::vector<std::vector<std::uint8_t>> decoded_;          ///< quantities by instruction
};

/// Numbers of blocks that a process has defined. They are forgotten once neither it nor a process that was
/// forked from it executes them.
class DefinedBlocks {
public:
  DefinedBlocks(BlockWorks& works, std::shared_ptr<const DefinedBlocks> inherited)
      : works_(works), inherited_(std::move(inherited)) {}
  DefinedBlocks(const DefinedBlocks&) = delete;
  DefinedBlocks& operator=(const DefinedBlocks&) = delete;
  ~DefinedBlocks();
  void add(std::uint64_t number) { numbers_.push_back(number); }

private:
  BlockWorks& works_;
  std::shared_ptr<const DefinedBlocks> inherited_;
  std::vector<std::uint64_t> numbers_;
};

class CountServer;

/// A clock that a thread asks for, and the reading to which it goes forward (0: none).
struct ClockRequest {
  pid_t tid = 0;
  std::uint64_t clock = 0, until = 0;
  bool waiting = false; ///< the reading takes no time
};

/// One process. Its caches, TLBs and predictor are its own, shared by its threads.
class CountedProcess {
public:
  /// `inherited`: by a process whose parent has ended already.
  CountedProcess(CountServer& server, pid_t process, Lineage lineage,
                 std::shared_ptr<const DefinedBlocks> inherited);
  CountedProcess& operator=(const CountedProcess&) = delete;
  ~CountedProcess();

  void block(const trace::Blocks::Block& block);
  void left(unsigned instructions);
  template <bool store>
  void access(std::uint64_t address, unsigned bytes, std::uint32_t) {
    if (!counting_) return;
    if constexpr (store)
      data_.store(address, bytes);
    else
      data_.load(address, bytes);
  }
  void flush(std::uint64_t address) {
    data_.flush(address);
    code_.flush(address);
  }
  void prefetch(std::uint64_t address) {
    if (counting_) data_.prefetch(address);
  }
  void thread(std::uint64_t number);
  void module(const trace::Module& module);
  void undecoded(const trace::Undecoded& instruction) { undecoded_ = instruction; }
  void section(std::string_view) {}
  bool memory(std::uint64_t kind, std::span<const std::uint64_t> words);
  [[nodiscard]] bool waits() const { return waiting_.has_value() || asks_; }
  /// Nothing: somebody has the slots.
  std::optional<trace::Countdown> answer();
  [[nodiscard]] std::unique_ptr<CountedProcess> forked(std::uint32_t pid) const;
  /// Accounts for what its threads have executed last.
  void end();
  /// With the CPU time of the program before, which has executed this one and has not ended as a child.
  void go_on(double cpu_ns, double children_ns);
  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] bool executes(pid_t tid) const { return tid == process_ || threads_.contains(tid); }
  [[nodiscard]] const Lineage& lineage() const { return lineage_; }
  [[nodiscard]] const std::shared_ptr<DefinedBlocks>& defined() const { return defined_; }
  [[nodiscard]] const std::optional<trace::Undecoded>& last_undecoded() const { return undecoded_; }

private:
  CountedProcess(const CountedProcess&) = default; ///< to be registered: see forked()
  struct Thread {
    Executor executor;
    Work work;             ///< not accounted for
    bool executed = false; ///< since it was accounted for
    double cpu_ns = 0;
    int paused = 0;
  };
  struct Range {
    std::uint64_t start, end;
  };
  std::optional<trace::Countdown> busy();
  void follow(const BlockEnd& before, std::uint64_t next);
  void collect();
  void account_threads();
  [[nodiscard]] bool watched() const;
  void request(std::span<const std::uint64_t> words);
  [[nodiscard]] std::uint64_t read_clock(const ClockRequest& request);
  [[nodiscard]] double reading(const ClockRequest& request);
  void spend(Thread& thread, double ns);

  CountServer* server_;
  BlockWorks* works_;
  std::shared_ptr<DefinedBlocks> defined_;
  pid_t process_;
  Lineage lineage_;                          ///< of its first thread
  std::map<std::uint64_t, Lineage> created_; ///< of threads that begin, by number, and 0: of a child
  SimulatedCaches data_, code_;
  BranchPredictor predictor_;
  std::vector<Range> own_; ///< code of the preload library
  std::map<pid_t, Thread> threads_;
  Thread* current_ = nullptr;
  std::vector<std::uint32_t> counts_; ///< executions since collect(), by block
  std::vector<std::uint32_t> touched_;
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> lefts_; ///< at side exits
  Work events_;                                                       ///< taken branches and the like
  std::uint32_t block_ = 0;                                           ///< the last block, if it was counted
  std::optional<BlockEnd> last_; ///< the last instruction, if the next block follows it
  bool counting_ = false;
  std::optional<std::pair<pid_t, std::uint64_t>> waiting_; ///< thread, its CPU time
  std::optional<ClockRequest> asks_;
  double cpu_ns_ = 0, children_ns_ = 0,
         waited_ns_ = 0; ///< children_ns_: of those that have ended, and theirs
  std::optional<trace::Undecoded> undecoded_;
};

/// All processes of an emulation. One thread uses it.
class CountServer {
public:
  explicit CountServer(const SimulatedMachine& machine);
  [[nodiscard]] std::unique_ptr<trace::Reader> begin(std::uint32_t pid, std::uint32_t parent);
  void end(trace::Reader& process);
  [[nodiscard]] const std::optional<trace::Undecoded>& undecoded() const { return undecoded_; }

private:
  friend class CountedProcess;
  /// What is to be done with the slots once nobody else has them: a thread has executed work, or begins a
  /// program.
  struct Deferred {
    Executor executor;
    std::optional<Work> work;
  };
  /// A process that has ended, for those that it has forked, or executed in its place.
  struct Ended {
    pid_t process = 0;
    Lineage lineage;
    std::shared_ptr<const DefinedBlocks> defined;
  };
  void settle();
  [[nodiscard]] CountedProcess* parent_of(const CountedProcess& child) const;
  void keep(Ended ended);
  [[nodiscard]] const Ended* find_ended(pid_t process) const;

  const SimulatedMachine& machine_;
  BlockWorks works_;
  std::vector<Deferred> deferred_;
  std::set<CountedProcess*> running_;
  std::deque<Ended> ended_; ///< the last ones; later entries of a PID replace earlier ones
  std::optional<trace::Undecoded> undecoded_;
  double now_ns_ = 0;                              ///< what all threads have executed and waited for
  std::array<std::uint64_t, RT_CLOCKS> started_{}; ///< what the clocks of Linux read when it was 0
  struct {
    pid_t process = 0;
    double cpu_ns = 0, children_ns = 0;
  } last_ended_; ///< it may go on with another program
};

} // namespace recount::emulate
