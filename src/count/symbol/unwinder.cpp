#include "count/symbol/unwinder.hpp"

#include <asm/perf_regs.h>
#include <elfutils/libdwfl.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>

namespace recount::symbol {
namespace {

/// The registers of perf_event in the order of DWARF's numbers (psABI of x86-64, figure 3.36; "DWARF for the
/// Arm 64-bit Architecture").
#if defined(__x86_64__)
constexpr std::array<unsigned, 17> dwarf_registers{
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,
    PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,  PERF_REG_X86_R9,
    PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
    PERF_REG_X86_R15, PERF_REG_X86_IP};
constexpr unsigned counter_register = PERF_REG_X86_IP, stack_register = PERF_REG_X86_SP;
constexpr bool separate_counter = false; ///< the program counter has no DWARF number
#elif defined(__aarch64__)
constexpr std::array<unsigned, 32> dwarf_registers = [] {
  std::array<unsigned, 32> numbers{};
  for (unsigned i = 0; i < numbers.size(); ++i)
    numbers[i] = PERF_REG_ARM64_X0 + i; // x0 to x30, then sp
  return numbers;
}();
constexpr unsigned counter_register = PERF_REG_ARM64_PC, stack_register = PERF_REG_ARM64_SP;
constexpr bool separate_counter = true;
#else
constexpr std::array<unsigned, 0> dwarf_registers{};
constexpr unsigned counter_register = 0, stack_register = 0;
constexpr bool separate_counter = false;
#endif

/// The registers and the stack of one sample.
class Snapshot {
public:
  Snapshot(const Sample& sample, std::uint64_t mask) : sample_(&sample), mask_(mask) {}

  [[nodiscard]] std::uint64_t value(unsigned number) const {
    const auto before = static_cast<std::size_t>(std::popcount(mask_ & ((std::uint64_t{1} << number) - 1)));
    return before < sample_->user_registers.size() ? sample_->user_registers[before] : 0;
  }
  /// The word at an address of the stack; a word need not be aligned.
  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t address) const {
    const std::uint64_t at = address - value(stack_register); // wraps below the stack: too large
    const std::size_t size = sample_->user_stack.size_bytes();
    std::uint64_t word = 0;
    if (size < sizeof word || at > size - sizeof word) return {};
    std::memcpy(&word, reinterpret_cast<const char*>(sample_->user_stack.data()) + at, sizeof word);
    return word;
  }

private:
  const Sample* sample_;
  std::uint64_t mask_;
};

struct DwflEnd {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

/// What libdwfl knows of a process.
struct Process {
  std::unique_ptr<Dwfl, DwflEnd> dwfl;
  std::set<std::uint32_t> files; ///< that were reported to it, or cannot be
  bool attached = false;
};

} // namespace

struct Unwinder::State {
  std::uint64_t mask;
  const Spaces& spaces;
  OpenFile open;
  Dwfl_Callbacks callbacks{};
  std::unordered_map<std::uint32_t, Process> processes;
  std::vector<std::uint64_t> addresses;
  // Of the current sample:
  std::optional<Snapshot> snapshot = {};
  Process* process = nullptr;
  std::uint32_t pid = 0;
  std::size_t frames = 0;

  State(std::uint64_t registers, const Spaces& mapped, OpenFile opener)
      : mask(registers), spaces(mapped), open(std::move(opener)) {
    // Only what is reported is used: nothing is searched for.
    callbacks.find_elf = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; };
    callbacks.find_debuginfo = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                                  GElf_Word, char**) { return -1; };
    callbacks.section_address = dwfl_offline_section_address;
  }

  void report(std::uint64_t address);
  bool attach();
  static int on_frame(Dwfl_Frame* frame, void* argument);
};

namespace {

/// The word at an address: of the sampled stack; frame information needs no other memory.
bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
  const auto word = static_cast<Unwinder::State*>(argument)->snapshot->word(address);
  if (word) *result = *word;
  return word.has_value();
}

/// There is one thread: that of the sample.
pid_t next_thread(Dwfl*, void* argument, void** thread) {
  if (*thread != nullptr) return 0;
  *thread = argument;
  return static_cast<pid_t>(static_cast<Unwinder::State*>(argument)->pid);
}

bool set_registers(Dwfl_Thread* thread, void* argument) {
  const Snapshot& snapshot = *static_cast<Unwinder::State*>(argument)->snapshot;
  std::array<Dwarf_Word, std::max<std::size_t>(dwarf_registers.size(), 1)> values{};
  std::ranges::transform(dwarf_registers, values.begin(), [&](unsigned r) { return snapshot.value(r); });
  if (separate_counter) dwfl_thread_state_register_pc(thread, snapshot.value(counter_register));
  return dwfl_thread_state_registers(thread, 0, static_cast<unsigned>(dwarf_registers.size()), values.data());
}

constexpr Dwfl_Thread_Callbacks thread_callbacks{
    next_thread, nullptr, read_memory, set_registers, nullptr, nullptr,
};

} // namespace

/// Reports the file that is mapped at an address, once.
void Unwinder::State::report(std::uint64_t address) {
  constexpr std::size_t max_files = 1024;
  const auto found = spaces.find(pid, address);
  if (!found || process->files.size() >= max_files || !process->files.insert(found->file).second) return;
  Opened opened = open(found->file);
  const auto linked_at = opened.module ? opened.module->address(found->offset) : std::nullopt;
  if (!linked_at || !opened.fd) return;
  const std::string name = spaces.files()[found->file].path;
  Dwfl* const dwfl = process->dwfl.get();
  dwfl_report_begin_add(dwfl);
  if (dwfl_report_elf(dwfl, name.c_str(), name.c_str(), opened.fd.get(), address - *linked_at, true))
    static_cast<void>(opened.fd.release()); // libdwfl closes it
  dwfl_report_end(dwfl, nullptr, nullptr);
}

bool Unwinder::State::attach() {
  if (!process->attached)
    process->attached =
        dwfl_attach_state(process->dwfl.get(), nullptr, static_cast<pid_t>(pid), &thread_callbacks, this);
  return process->attached;
}

int Unwinder::State::on_frame(Dwfl_Frame* frame, void* argument) {
  State& state = *static_cast<State*>(argument);
  Dwarf_Addr counter = 0;
  bool activation = false; // the address is that of the next instruction, not one after a call
  if (!dwfl_frame_pc(frame, &counter, &activation)) return DWARF_CB_ABORT;
  if (counter == 0) return DWARF_CB_ABORT;
  state.report(activation ? counter : counter - 1);
  state.addresses.push_back(counter);
  return state.addresses.size() < state.frames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

std::uint64_t Unwinder::registers() {
  std::uint64_t mask = 0;
  for (const unsigned number : dwarf_registers)
    mask |= std::uint64_t{1} << number;
  return mask == 0 ? 0 : mask | std::uint64_t{1} << counter_register;
}

Unwinder::Unwinder(std::uint64_t mask, const Spaces& spaces, OpenFile open)
    : state_(std::make_unique<State>(mask, spaces, std::move(open))) {}
Unwinder::Unwinder(Unwinder&&) noexcept = default;
Unwinder::~Unwinder() = default;

void Unwinder::forget(std::uint32_t pid) {
  state_->processes.erase(pid);
}

Unwinder::Chain Unwinder::unwind(const Sample& sample, std::size_t frames) {
  constexpr std::size_t max_processes = 32;
  State& state = *state_;
  state.addresses.clear();
  if (sample.user_registers.empty() || sample.register_abi != PERF_SAMPLE_REGS_ABI_64) return {};
  state.snapshot.emplace(sample, state.mask);
  state.pid = sample.pid;
  state.frames = frames;
  if (state.processes.size() >= max_processes && !state.processes.contains(sample.pid))
    state.processes.clear();
  state.process = &state.processes[sample.pid];
  if (!state.process->dwfl) state.process->dwfl.reset(dwfl_begin(&state.callbacks));
  const std::uint64_t innermost = state.snapshot->value(counter_register);
  if (!state.process->dwfl) return {};
  state.report(innermost);
  int ended = -1;
  if (state.attach())
    ended = dwfl_getthread_frames(state.process->dwfl.get(), static_cast<pid_t>(sample.pid), State::on_frame,
                                  &state);
  if (state.addresses.empty()) state.addresses.push_back(innermost);
  return {state.addresses, ended == 0};
}

} // namespace recount::symbol
