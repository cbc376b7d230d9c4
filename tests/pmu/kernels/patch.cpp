#include "patch.hpp"

#include "kernel_work.hpp"
#include "model/emulate/preload/account.hpp"
#include "model/emulate/preload/processor.hpp"
#include "model/emulate/real.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace recount::emulate {
namespace {

/// movabs $argument, %rsi; movabs $target, %rax; jmp *%rax: the first argument stays where it is.
constexpr std::size_t detour_bytes = 22;
void write_detour(unsigned char* at, const void* argument, const void* target) {
  constexpr unsigned char to_rsi[] = {0x48, 0xbe}, to_rax[] = {0x48, 0xb8}, jump[] = {0xff, 0xe0};
  std::memcpy(at, to_rsi, 2);
  std::memcpy(at + 2, &argument, 8);
  std::memcpy(at + 10, to_rax, 2);
  std::memcpy(at + 12, &target, 8);
  std::memcpy(at + 20, jump, 2);
}

void call_measured(void* context, const Measured* function) {
  function->own(context);
  const Work work = function->work(*function, context);
  const CodeRange outside = std::exchange(executing, function->code);
  account_work(work);
  executing = outside;
}

void call_written(void* context, const WrittenCode* code) {
  std::int64_t passes = 0;
  std::memcpy(&passes, context, sizeof passes);
  account_work(count_work(*code, passes));
}

template <class Argument>
void detour(unsigned char* at, const Argument* argument, void (*target)(void*, const Argument*)) {
  write_detour(at, argument, reinterpret_cast<const void*>(target));
}

void make(int protection, unsigned char* at, std::size_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uint64_t>(at) / page * page;
  const auto last = reinterpret_cast<std::uint64_t>(at) + bytes;
  real::mprotect(reinterpret_cast<void*>(first), last - first, protection);
}

} // namespace

void replace_measured_functions() {
  static std::vector<Measured> all = measured_functions();
  for (Measured& one : all) {
    const auto symbol = program_symbol(one.name);
    if (symbol.at == nullptr || symbol.bytes < detour_bytes) continue;
    one.code = {reinterpret_cast<std::uint64_t>(symbol.at), symbol.bytes};
    make(PROT_READ | PROT_WRITE, symbol.at, detour_bytes);
    detour(symbol.at, static_cast<const Measured*>(&one), call_measured);
    make(PROT_READ | PROT_EXEC, symbol.at, detour_bytes);
  }
}

void replace_written_code(void* at, std::size_t bytes) {
  static std::map<void*, WrittenCode> known;
  auto* const code = static_cast<unsigned char*>(at);
  WrittenCode written = follow_jumps(code, bytes);
  if (written.lines.empty()) return;
  WrittenCode& kept = known[at] = std::move(written);
  detour(code, static_cast<const WrittenCode*>(&kept), call_written);
}

namespace {
[[maybe_unused]] const bool added = (additions = {replace_measured_functions, replace_written_code}, true);
} // namespace

} // namespace recount::emulate
