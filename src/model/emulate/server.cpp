#include "model/emulate/server.hpp"

#include "model/emulate/accounting.hpp"
#include "model/emulate/load_chain.hpp"
#include "model/emulate/settings.hpp"

#include <algorithm>
#include <capstone/capstone.h>
#include <chrono>
#include <cmath>
#include <ctime>
#include <string>
#include <string_view>

namespace recount::emulate {
namespace {

constexpr std::uint64_t line_bytes = 64;

/// An x86-64 instruction: what the decoder tells of it; loads, stores and taken branches are not among it.
struct InstructionWork {
  std::vector<std::uint8_t> quantities; ///< one of each; Quantity::instructions is left out
  bool indirect = false;                ///< a jump or call whose target is computed, not a return
};
static_assert(all_quantities <= 256);

class X86Decoder {
public:
  X86Decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  X86Decoder(const X86Decoder&) = delete;
  X86Decoder& operator=(const X86Decoder&) = delete;
  ~X86Decoder() {
    if (instruction_ != nullptr) cs_free(instruction_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }
  /// Valid until the next call; nullptr: not decoded.
  const cs_insn* decode(std::span<const unsigned char> code) {
    const unsigned char* at = code.data();
    std::size_t left = code.size();
    std::uint64_t address = 0;
    return instruction_ != nullptr && cs_disasm_iter(handle_, &at, &left, &address, instruction_)
               ? instruction_
               : nullptr;
  }
  [[nodiscard]] csh handle() const { return handle_; }

private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

/// "vfmadd231sd" is an fma of f64, scalar: names of Intel's manual, volume 2.
struct VectorName {
  const char* prefix;
  const char* operation;
};
constexpr VectorName vector_names[] = {
    {"fmadd", "fma"}, {"fmsub", "fma"},    {"fnmadd", "fma"}, {"fnmsub", "fma"}, {"add", "add"},
    {"sub", "add"},   {"mul", "multiply"}, {"div", "divide"}, {"sqrt", "root"},  {"rcp", "invert"}};

std::optional<std::size_t> floating_point(const cs_insn& one) {
  std::string_view name = one.mnemonic;
  if (name.starts_with('v')) name.remove_prefix(1);
  constexpr std::pair<const char*, const char*> elements[] = {{"d", "f64"}, {"s", "f32"}, {"h", "f16"}};
  if (name.size() < 4) return {};
  const char packing = name[name.size() - 2];
  const auto element =
      std::ranges::find(elements, name.substr(name.size() - 1), &std::pair<const char*, const char*>::first);
  if (element == std::end(elements) || (packing != 's' && packing != 'p')) return {};
  const auto known = std::ranges::find_if(
      vector_names, [&](const VectorName& one_name) { return name.starts_with(one_name.prefix); });
  if (known == std::end(vector_names)) return {};
  std::size_t bytes = 16;
  for (int i = 0; i < one.detail->x86.op_count; ++i)
    bytes = std::max<std::size_t>(bytes, one.detail->x86.operands[i].size);
  const char* const width = packing == 's' ? "scalar" : bytes == 16 ? "128" : bytes == 32 ? "256" : "512";
  return fp_quantity(known->operation, element->second, width);
}

/// What an instruction is besides: of integer arithmetic, or special. Multiplications and divisions are
/// integer, too.
constexpr std::pair<unsigned, Quantity> instruction_kinds[] = {{X86_INS_IMUL, Quantity::integer_multiplies},
                                                               {X86_INS_MUL, Quantity::integer_multiplies},
                                                               {X86_INS_MULX, Quantity::integer_multiplies},
                                                               {X86_INS_DIV, Quantity::integer_divides},
                                                               {X86_INS_IDIV, Quantity::integer_divides},
                                                               {X86_INS_ADD, Quantity::integer},
                                                               {X86_INS_XADD, Quantity::integer},
                                                               {X86_INS_SUB, Quantity::integer},
                                                               {X86_INS_ADC, Quantity::integer},
                                                               {X86_INS_SBB, Quantity::integer},
                                                               {X86_INS_INC, Quantity::integer},
                                                               {X86_INS_DEC, Quantity::integer},
                                                               {X86_INS_NEG, Quantity::integer},
                                                               {X86_INS_CMP, Quantity::integer},
                                                               {X86_INS_TEST, Quantity::integer},
                                                               {X86_INS_AND, Quantity::integer},
                                                               {X86_INS_OR, Quantity::integer},
                                                               {X86_INS_XOR, Quantity::integer},
                                                               {X86_INS_NOT, Quantity::integer},
                                                               {X86_INS_SHL, Quantity::integer},
                                                               {X86_INS_SHR, Quantity::integer},
                                                               {X86_INS_SAR, Quantity::integer},
                                                               {X86_INS_ROL, Quantity::integer},
                                                               {X86_INS_ROR, Quantity::integer},
                                                               {X86_INS_LEA, Quantity::integer},
                                                               {X86_INS_SYSCALL, Quantity::system_calls},
                                                               {X86_INS_MFENCE, Quantity::fences},
                                                               {X86_INS_LFENCE, Quantity::fences},
                                                               {X86_INS_SFENCE, Quantity::fences},
                                                               {X86_INS_CLFLUSH, Quantity::flushes},
                                                               {X86_INS_CLFLUSHOPT, Quantity::flushes},
                                                               {X86_INS_CLWB, Quantity::flushes},
                                                               {X86_INS_PREFETCHT0, Quantity::prefetches},
                                                               {X86_INS_PREFETCHT1, Quantity::prefetches},
                                                               {X86_INS_PREFETCHT2, Quantity::prefetches},
                                                               {X86_INS_PREFETCHNTA, Quantity::prefetches},
                                                               {X86_INS_PREFETCHW, Quantity::prefetches}};

/// Jumps, calls and returns; conditional branches are among them in the decoder's group of jumps.
std::optional<Quantity> flow(const cs_insn& one, bool& indirect) {
  const auto in_group = [&](unsigned group) {
    const auto* const groups = one.detail->groups;
    return std::find(groups, groups + one.detail->groups_count, group) != groups + one.detail->groups_count;
  };
  const bool computed = one.detail->x86.op_count == 1 && one.detail->x86.operands[0].type != X86_OP_IMM;
  if (in_group(CS_GRP_RET)) return Quantity::returns;
  if (in_group(CS_GRP_CALL)) {
    indirect = computed;
    return Quantity::calls;
  }
  if (!in_group(CS_GRP_JUMP)) return {};
  if (one.id != X86_INS_JMP) return Quantity::conditional;
  indirect = computed;
  return computed ? Quantity::indirect : Quantity::jumps;
}

InstructionWork count_work(const cs_insn& one) {
  InstructionWork work;
  const auto take = [&work](std::optional<Quantity> which) {
    if (which) work.quantities.push_back(static_cast<std::uint8_t>(*which));
  };
  const auto* const kind =
      std::ranges::find(instruction_kinds, one.id, &std::pair<unsigned, Quantity>::first);
  if (kind != std::end(instruction_kinds)) {
    take(kind->second);
    if (kind->second == Quantity::integer_multiplies || kind->second == Quantity::integer_divides)
      take(Quantity::integer);
  }
  take(flow(one, work.indirect));
  const cs_x86& x86 = one.detail->x86;
  const bool swaps = one.id == X86_INS_XCHG && x86.op_count == 2 &&
                     (x86.operands[0].type == X86_OP_MEM || x86.operands[1].type == X86_OP_MEM);
  if (x86.prefix[0] == X86_PREFIX_LOCK || swaps) take(Quantity::atomics);
  if (const auto which = floating_point(one)) work.quantities.push_back(static_cast<std::uint8_t>(*which));
  return work;
}

/// Of each instruction of a code: `lengths` in bytes, one after the other. An instruction that the decoder
/// does not know has none.
std::vector<InstructionWork> decode_work(std::span<const unsigned char> code,
                                         std::span<const std::uint8_t> lengths) {
  thread_local X86Decoder decoder;
  std::vector<InstructionWork> all;
  std::vector<RegisterFlow> flows;
  std::size_t at = 0;
  for (const std::uint8_t length : lengths) {
    if (length > code.size() - at) break;
    const cs_insn* const one = decoder.decode(code.subspan(at, length));
    all.push_back(one != nullptr ? count_work(*one) : InstructionWork{});
    flows.push_back(one != nullptr ? register_flow(decoder.handle(), *one) : RegisterFlow{});
    at += length;
  }
  for (const std::size_t load : chained_loads(flows))
    all[load].quantities.push_back(static_cast<std::uint8_t>(Quantity::chained_loads));
  all.resize(lengths.size());
  return all;
}

/// Of what the thread with that lineage creates now.
Lineage descend(pid_t tid, const Lineage& lineage) {
  Lineage all{{tid, count_opened()}};
  all.insert(all.end(), lineage.begin(), lineage.end());
  return all;
}

/// What stands for the CPU time of threads where no event of Linux keeps it.
std::uint64_t wall_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void account_work(Executor& executor, const Work& work, std::uint64_t now_ns) {
  const Effect effect(work, executor);
  Observer nobody;
  account(executor, settings().unbacked ? wall_ns() : now_ns, &effect, nullptr, nobody);
}

void count(Work& work, Quantity quantity, double times = 1) {
  work.of[static_cast<std::size_t>(quantity)] += times;
}

} // namespace

bool BlockWorks::define(std::span<const std::uint64_t> words) {
  if (words.empty()) return false;
  const trace::Blocks::Block* const block = blocks.find(words[0]);
  if (block == nullptr) return false;
  grow();
  std::vector<std::uint8_t> lengths;
  for (std::uint32_t i = 0; i < block->instructions; ++i)
    lengths.push_back(blocks.instruction(block->instruction + i).bytes);
  const std::span bytes(reinterpret_cast<const unsigned char*>(words.data() + 1),
                        (words.size() - 1) * sizeof words[0]);
  const auto decoded = decode_work(bytes, lengths);
  if (decoded_.size() < blocks.instruction_count()) decoded_.resize(blocks.instruction_count());
  const std::size_t number = this->number(*block);
  BlockWork& work = works_[number];
  work.clear();
  for (std::uint32_t i = 0; i < block->instructions; ++i) {
    decoded_[block->instruction + i] = decoded[i].quantities;
    add_instruction(work, block->instruction + i);
  }
  locate(number, *block, !decoded.empty() && decoded.back().indirect);
  return true;
}

void BlockWorks::locate(std::size_t number, const trace::Blocks::Block& block, bool indirect) {
  std::vector<std::uint64_t> lines;
  for (std::uint32_t i = block.instruction; i < block.instruction + block.instructions; ++i) {
    const auto& instruction = blocks.instruction(i);
    for (std::uint64_t line = instruction.address / line_bytes;
         line <= (instruction.address + std::max<unsigned>(instruction.bytes, 1) - 1) / line_bytes; ++line)
      if (lines.empty() || lines.back() != line * line_bytes) lines.push_back(line * line_bytes);
  }
  BlockPlace& place = places_[number];
  place = {blocks.instruction(block.instruction).address,
           end_at(block.instruction + block.instructions - 1, indirect), BlockPlace::scattered};
  const auto gap = [](std::uint64_t line, std::uint64_t next) { return next != line + line_bytes; };
  lines_.erase(number);
  if (lines.size() <= UINT8_MAX && std::ranges::adjacent_find(lines, gap) == lines.end())
    place.lines = static_cast<std::uint8_t>(lines.size());
  else
    lines_[number] = std::move(lines);
}

void BlockWorks::forget(std::uint64_t number) {
  const trace::Blocks::Block* const block = blocks.find(number);
  if (block == nullptr) return;
  const std::size_t place = this->number(*block);
  if (place < works_.size()) {
    works_[place] = {};
    places_[place] = {};
    lines_.erase(place);
  }
  for (std::uint32_t i = block->instruction; i < block->instruction + block->instructions; ++i)
    if (i < decoded_.size()) decoded_[i] = {};
  blocks.forget(number);
}

DefinedBlocks::~DefinedBlocks() {
  for (const std::uint64_t number : numbers_)
    works_.forget(number);
}

// Loads, stores and transfers are instructions that access memory, whatever number of accesses they make.
void BlockWorks::add_instruction(BlockWork& work, std::uint32_t number) const {
  const auto& instruction = blocks.instruction(number);
  const auto add_one = [&work](std::uint8_t quantity) {
    for (auto& [known, amount] : work)
      if (known == quantity) {
        ++amount;
        return;
      }
    work.emplace_back(quantity, 1U);
  };
  add_one(static_cast<std::uint8_t>(Quantity::instructions));
  if (instruction.loads) add_one(static_cast<std::uint8_t>(Quantity::loads));
  if (instruction.stores) add_one(static_cast<std::uint8_t>(Quantity::stores));
  if (instruction.loads || instruction.stores) add_one(static_cast<std::uint8_t>(Quantity::transfers));
  for (const std::uint8_t quantity : decoded_[number])
    add_one(quantity);
}

Work BlockWorks::after(std::size_t number, unsigned count) const {
  const trace::Blocks::Block& block = blocks.defined()[number];
  BlockWork rest;
  for (std::uint32_t i = count; i < block.instructions; ++i)
    add_instruction(rest, block.instruction + i);
  Work work;
  for (const auto& [quantity, amount] : rest)
    work.of[quantity] += amount;
  return work;
}

CountedProcess::CountedProcess(CountServer& server, pid_t process, Lineage lineage,
                               std::shared_ptr<const DefinedBlocks> inherited)
    : server_(&server),
      works_(&server.works_),
      defined_(std::make_shared<DefinedBlocks>(server.works_, std::move(inherited))),
      process_(process),
      lineage_(std::move(lineage)),
      data_(server.machine_, SimulatedCaches::Side::data),
      code_(server.machine_, SimulatedCaches::Side::code) {
  server.running_.insert(this);
}

CountedProcess::~CountedProcess() {
  server_->running_.erase(this);
}

/// The instruction is followed by the one at `next`.
void CountedProcess::follow(const BlockEnd& before, std::uint64_t next) {
  if (before.flow == RT_CONDITIONAL) {
    const bool taken = next != before.address + before.bytes;
    count(events_, Quantity::taken, taken ? 1 : 0);
    if (predictor_.conditional(before.address, taken)) {
      count(events_, Quantity::mispredicted);
      count(events_, Quantity::mispredicted_taken, taken ? 1 : 0);
    }
  } else if (before.flow == RT_REPEATED && next == before.address) {
    count(events_, Quantity::instructions, -1); // the same one goes on
  } else if (before.indirect && predictor_.indirect(before.address, next)) {
    count(events_, Quantity::mispredicted_indirect);
  }
}

void CountedProcess::block(const trace::Blocks::Block& block) {
  const std::size_t number = works_->number(block);
  if (number >= counts_.size()) {
    works_->grow();
    counts_.resize(works_->blocks.defined().size());
  }
  const BlockPlace& place = works_->place(number);
  const auto within = [&place](const Range& range) {
    return place.start >= range.start && place.start < range.end;
  };
  counting_ = current_ != nullptr && current_->paused == 0 && std::ranges::none_of(own_, within);
  if (!counting_) {
    last_.reset();
    return;
  }
  if (last_) follow(*last_, place.start);
  if (counts_[number]++ == 0) touched_.push_back(static_cast<std::uint32_t>(number));
  const std::uint64_t line = place.start / line_bytes * line_bytes;
  for (std::uint64_t i = 0; i < place.lines; ++i)
    code_.fetch(line + i * line_bytes);
  if (place.lines == BlockPlace::scattered)
    for (const std::uint64_t one : works_->lines(number))
      code_.fetch(one);
  block_ = static_cast<std::uint32_t>(number);
  last_ = place.end;
}

void CountedProcess::left(unsigned instructions) {
  if (!counting_) return;
  const trace::Blocks::Block& block = works_->blocks.defined()[block_];
  last_ = works_->end_at(block.instruction + instructions - 1, works_->place(block_).end.indirect);
  if (instructions < block.instructions) ++lefts_[{block_, instructions}];
}

/// Adds to the running thread what was executed since the last time.
void CountedProcess::collect() {
  if (current_ == nullptr) return;
  current_->executed = true;
  Work work;
  for (const std::uint32_t number : touched_) {
    for (const auto& [quantity, amount] : works_->of(number))
      work.of[quantity] += double{1} * amount * counts_[number];
    counts_[number] = 0;
  }
  touched_.clear();
  for (const auto& [exit, times] : lefts_)
    add(work, works_->after(exit.first, exit.second), -double{1} * times);
  lefts_.clear();
  add(work, std::exchange(events_, Work{}));
  add(work, data_.work());
  add(work, code_.work());
  add(current_->work, work);
  if (settings().emulated_time()) spend(*current_, nanoseconds(Effect(work), current_->executor.cpu));
}

/// The one CPU of the clock.
void CountedProcess::spend(Thread& thread, double ns) {
  thread.cpu_ns += ns;
  cpu_ns_ += ns;
  server_->now_ns_ += ns;
}

/// In nanoseconds, of RT_ELAPSED where the clock is none of a CPU; cycles of the first PMU.
double CountedProcess::reading(const ClockRequest& request) {
  switch (request.clock) {
  case CLOCK_PROCESS_CPUTIME_ID: return cpu_ns_;
  case CLOCK_THREAD_CPUTIME_ID: return threads_[request.tid].cpu_ns;
  case RT_CPU_OF_CHILDREN: return children_ns_;
  case RT_CPU_OF_WAITED: return children_ns_ - std::exchange(waited_ns_, children_ns_);
  case RT_CYCLE_COUNTER: return std::round(server_->now_ns_ * server_->machine_.pmus.front().mhz / 1000);
  default: return server_->now_ns_;
  }
}

/// Reading it takes time, too: that of the kernel, or of the instruction.
std::uint64_t CountedProcess::read_clock(const ClockRequest& request) {
  static const Effect call(settings().machine.kernel_background);
  constexpr double instruction_cycles = 25;
  Thread& thread = threads_[request.tid];
  const std::uint64_t started = request.clock < RT_CLOCKS ? server_->started_[request.clock] : 0;
  const std::uint64_t read = started + static_cast<std::uint64_t>(reading(request));
  if (request.until > read) {
    server_->now_ns_ += static_cast<double>(request.until - read);
    return request.until;
  }
  if (request.waiting) return read;
  const double cost = request.clock == RT_CYCLE_COUNTER
                          ? instruction_cycles * 1000 / server_->machine_.pmus.front().mhz
                          : nanoseconds(call, thread.executor.cpu);
  thread.executor.kernel_ns += cost;
  thread.executed = true;
  spend(thread, cost);
  return read;
}

void CountedProcess::thread(std::uint64_t number) {
  collect();
  last_.reset();
  const auto tid = static_cast<pid_t>(number >> 16);
  const auto [at, begins] = threads_.try_emplace(tid);
  current_ = &at->second;
  if (settings().unbacked && current_->executor.last_ns == 0) current_->executor.last_ns = wall_ns();
  current_->executor.tid = tid;
  if (!begins) return;
  const auto created = created_.extract(number & 0xffff);
  current_->executor.lineage = created ? created.mapped() : lineage_;
}

void CountedProcess::module(const trace::Module& module) {
  const std::string name = module.file.substr(module.file.rfind('/') + 1);
  if (name == "librecount-emulate.so") own_.push_back({module.start, module.end});
}

void CountedProcess::request(std::span<const std::uint64_t> words) {
  if (current_ == nullptr) return;
  if (words[0] == RT_PAUSE) ++current_->paused;
  if (words[0] == RT_RESUME && current_->paused > 0) --current_->paused;
  if (words[0] == RT_CREATED)
    created_[words[1]] = descend(current_->executor.tid, current_->executor.lineage);
  if (words[0] != RT_SYNC && words[0] != RT_CLOCK) return;
  collect();
  if (words[0] == RT_CLOCK) {
    asks_ = {static_cast<pid_t>(words[1]), words[2] % RT_WAITING, words[3], words[2] >= RT_WAITING};
    return;
  }
  current_->executor.cpu = static_cast<int>(words[2] & 0xffff);
  waiting_.emplace(current_->executor.tid, words[3]);
}

bool CountedProcess::memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
  if (kind == RT_CODE) {
    if (!works_->define(words)) return false;
    defined_->add(words[0]);
    return true;
  }
  if (kind != RT_REQUEST || words.size() != 4) return false;
  request(words);
  return true;
}

/// Valgrind executes one thread of a process at a time: the one that waits must not keep the one that holds
/// the slots from running.
std::optional<trace::Countdown> CountedProcess::busy() {
  if (!waiting_ || !threads_.contains(TryLocked::holder())) return {};
  waiting_.reset();
  trace::Countdown countdown;
  countdown.answer = RT_BUSY;
  return countdown;
}

// Not those that have done nothing since: a program may have had hundreds of threads.
void CountedProcess::account_threads() {
  for (auto& [tid, thread] : threads_) {
    const bool waits = waiting_ && tid == waiting_->first;
    if (std::exchange(thread.executed, false) || waits || settings().unbacked)
      account_work(thread.executor, std::exchange(thread.work, Work{}),
                   waits ? waiting_->second : thread.executor.last_ns);
  }
}

/// Whether somebody else than the thread that executes may read what it counts: as another one's, or as its
/// ancestor's.
bool CountedProcess::watched() const {
  const Locked shared;
  const std::span slots(shared->slots, static_cast<std::size_t>(shared->end));
  return std::ranges::any_of(slots, [this](const Slot& slot) {
    return slot.used && slot.counted() && (slot.foreign || slot.inherit) &&
           std::ranges::any_of(threads_, [&](const auto& thread) {
             return counts_thread(slot, thread.first, thread.second.executor.lineage);
           });
  });
}

// Those of other threads and processes, too: the program may read an event that counts one of them, which
// runs on.
std::optional<trace::Countdown> CountedProcess::answer() {
  if (asks_) {
    for (CountedProcess* const other : server_->running_)
      other->collect();
    trace::Countdown countdown;
    countdown.reading = read_clock(*std::exchange(asks_, {}));
    return countdown;
  }
  const TryLocked slots;
  if (!slots) return busy();
  server_->settle();
  account_threads();
  for (CountedProcess* const other : server_->running_) {
    if (other == this || !other->watched()) continue;
    other->collect();
    other->account_threads();
  }
  const pid_t waiting = waiting_ ? waiting_->first : 0;
  waiting_.reset();
  return make_countdown(threads_[waiting].executor);
}

std::unique_ptr<CountedProcess> CountedProcess::forked(std::uint32_t pid) const {
  std::unique_ptr<CountedProcess> child(new CountedProcess(*this));
  server_->running_.insert(child.get());
  child->defined_ = std::make_shared<DefinedBlocks>(*works_, defined_);
  child->process_ = static_cast<pid_t>(pid);
  const auto created = created_.find(0);
  child->lineage_ = created != created_.end() ? created->second : descend(process_, lineage_);
  child->created_.clear();
  child->threads_.clear();
  child->current_ = nullptr;
  child->waiting_.reset();
  child->asks_.reset();
  child->cpu_ns_ = child->children_ns_ = child->waited_ns_ = 0;
  std::ranges::fill(child->counts_, 0);
  child->touched_.clear();
  child->lefts_.clear();
  child->events_ = {};
  static_cast<void>(child->data_.work());
  static_cast<void>(child->code_.work());
  child->last_.reset();
  return child;
}

void CountedProcess::end() {
  collect();
  server_->last_ended_ = {process_, cpu_ns_, children_ns_};
  if (CountedProcess* const parent = server_->parent_of(*this))
    parent->children_ns_ += cpu_ns_ + children_ns_;
  for (auto& [tid, thread] : threads_)
    server_->deferred_.push_back({thread.executor, thread.work});
}

void CountedProcess::go_on(double cpu_ns, double children_ns) {
  cpu_ns_ = cpu_ns;
  children_ns_ = waited_ns_ = children_ns;
  if (CountedProcess* const parent = server_->parent_of(*this)) parent->children_ns_ -= cpu_ns + children_ns;
}

/// With the slots held.
void CountServer::settle() {
  for (Deferred& one : deferred_)
    if (one.work)
      account_work(one.executor, *one.work, one.executor.last_ns);
    else
      begin_program(one.executor.tid, false);
  deferred_.clear();
}

/// To the second, that fractions of it repeat.
CountServer::CountServer(const SimulatedMachine& machine) : machine_(machine) {
  constexpr std::uint64_t second = 1'000'000'000;
  for (std::size_t clock = 0; clock < started_.size(); ++clock) {
    timespec now{};
    const bool of_cpu = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
    if (!of_cpu && ::clock_gettime(static_cast<clockid_t>(clock), &now) == 0)
      started_[clock] = static_cast<std::uint64_t>(now.tv_sec) * second;
  }
}

/// The process that has forked it and still runs.
CountedProcess* CountServer::parent_of(const CountedProcess& child) const {
  if (child.lineage().empty()) return nullptr;
  const auto found = std::ranges::find_if(running_, [&](const CountedProcess* one) {
    return one != &child && one->executes(child.lineage().front().tid);
  });
  return found == running_.end() ? nullptr : *found;
}

// Their number is limited, as is thus the memory of a session without end: a child begins before a few more
// processes have ended.
void CountServer::keep(Ended ended) {
  constexpr std::size_t most = 64, max_with_blocks = 4;
  ended_.push_front(std::move(ended));
  if (ended_.size() > max_with_blocks) ended_[max_with_blocks].defined.reset();
  if (ended_.size() > most) ended_.pop_back();
}

const CountServer::Ended* CountServer::find_ended(pid_t process) const {
  const auto found = std::ranges::find(ended_, process, &Ended::process);
  return found == ended_.end() ? nullptr : &*found;
}

std::unique_ptr<trace::Reader> CountServer::begin(std::uint32_t pid, std::uint32_t parent) {
  const auto process = static_cast<pid_t>(pid);
  Lineage lineage;
  std::shared_ptr<const DefinedBlocks> inherited;
  if (const Ended* const forker = parent > 0 ? find_ended(static_cast<pid_t>(parent)) : nullptr) {
    lineage = descend(forker->process, forker->lineage);
    inherited = forker->defined;
  } else if (const Ended* const before = find_ended(process)) {
    lineage = before->lineage;
  } else {
    lineage = read_lineage(process);
    lineage.erase(lineage.begin()); // the process itself
  }
  if (parent == 0) { // not forked: a program
    Executor beginning;
    beginning.tid = process;
    deferred_.push_back({beginning, {}});
  }
  auto counted = std::make_unique<CountedProcess>(*this, process, std::move(lineage), std::move(inherited));
  if (last_ended_.process == process) counted->go_on(last_ended_.cpu_ns, last_ended_.children_ns);
  return std::make_unique<trace::Decoder<CountedProcess>>(works_.blocks, std::move(counted));
}

void CountServer::end(trace::Reader& reader) {
  CountedProcess& process = dynamic_cast<trace::Decoder<CountedProcess>&>(reader).sink();
  process.end();
  if (process.last_undecoded()) undecoded_ = process.last_undecoded();
  keep({process.process(), process.lineage(), process.defined()});
  if (const TryLocked slots; slots) settle();
}

} // namespace recount::emulate
