// Whether a process is within the functions that are simulated.
#pragma once

#include "base/process/fd.hpp"
#include "model/trace/executed.hpp"
#include "model/trace/reader.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace recount::trace {

/// From where to where a model simulates; shared by the processes of a run.
struct FunctionRange {
  std::string from = {}; ///< from each entry of this function on; empty: from the start
  std::string to = {};   ///< to each entry of this one; empty: until the first one returns
  bool begun = false;    ///< `from` has been entered
  [[nodiscard]] bool empty() const { return from.empty() && to.empty(); }
};

class FunctionGate;
/// That of a program that begins; none: everything is simulated.
[[nodiscard]] std::optional<FunctionGate> make_gate(const Blocks& blocks, FunctionRange& range);
/// Why nothing was simulated, after the run; empty: `from` was entered, or is not asked for.
[[nodiscard]] std::string never_entered(const FunctionRange& range);

/// Throws recount::Error (bad_input) for a function that neither the program nor its libraries have, with
/// near names. Scripts are not looked into.
void demand_functions(const std::vector<std::string>& command, const FunctionRange& range);

/// Follows the calls of one process. Valgrind must end blocks at every branch (ToolOptions::exact). A
/// function is left as soon as its frame is gone, by a return or otherwise (longjmp(3), exceptions): where
/// calls store the return address, that is seen at the next call, return, or jump to where a call has
/// returned, as that of longjmp(3).
class FunctionGate {
public:
  /// Finds the addresses of functions of that name in a module.
  using Find = std::unordered_set<std::uint64_t> (*)(const Module& module, const std::string& name);
  FunctionGate(const Blocks& blocks, FunctionRange& range, Find find);

  [[nodiscard]] bool open() const { return open_; }
  void block(const Blocks::Block& block);
  void left(unsigned instructions) { last_ = first_ + instructions - 1; }
  void access(std::uint64_t address) { accessed_ = address; }
  void thread(std::uint64_t number);
  void module(const Module& module);
  /// That of a child, which goes on in the thread that forked.
  [[nodiscard]] FunctionGate forked() const;

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Frame {
    std::uint64_t back; ///< return address
    std::uint64_t slot; ///< where it is stored; 0: in a register
  };
  struct Thread {
    std::vector<Frame> frames;
    std::unordered_map<std::uint64_t, std::uint64_t> slots; ///< of the last call, by return address
    std::size_t inside = 0; ///< frames below and with that of the function; 0: not inside
  };
  void call(const Blocks::Instruction& by);
  void come_back(std::uint64_t address);
  void jump(std::uint64_t address);
  void drop(std::size_t frames);
  void drop_below(std::uint64_t slot);
  void update();

  const Blocks* blocks_;
  FunctionRange* range_;
  Find find_;
  std::unordered_set<std::uint64_t> from_, to_; ///< addresses
  std::map<std::uint64_t, Thread> threads_;
  std::uint64_t number_ = 0;
  Thread current_;
  bool inherited_ = false; ///< the first thread that is named goes on with `current_`
  bool between_ = false;   ///< of a range with `to`: after `from`, before `to`
  bool open_;
  std::uint32_t first_ = none, last_ = none;
  std::uint64_t accessed_ = 0;
};

// Whether a process is within the section that is simulated.

/// The descriptors of the program: `sink`, which nobody reads, since the tool sees its messages; or none.
[[nodiscard]] std::vector<std::pair<int, int>> descriptors(const process::Fd& sink, bool sections);

/// Follows the messages of recount/sections.h. Sections of one name may lie within each other.
class SectionGate {
public:
  /// Empty: everything is simulated.
  explicit SectionGate(std::string name) : name_(std::move(name)), open_(name_.empty()) {}
  [[nodiscard]] bool open() const { return open_; }
  /// Whether the section has ever begun.
  [[nodiscard]] bool seen() const { return seen_; }
  /// A message of one or more lines, "EDGE [@NANOSECONDS ]NAME"; others are ignored.
  void take(std::string_view text);

private:
  void take_line(std::string_view line);
  std::string name_;
  bool open_, seen_ = false;
  int depth_ = 0;
};

} // namespace recount::trace
