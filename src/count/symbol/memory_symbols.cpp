#include "count/symbol/memory_symbols.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "count/symbol/module.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>

namespace recount::symbol {
namespace {

constexpr std::size_t max_functions = 1'000'000;
constexpr std::size_t largest_file = 256U << 20U;

/// A hexadecimal number, with or without 0x, and the blank after it.
std::optional<std::uint64_t> take_hexadecimal(std::string_view& text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [at, wrong] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (wrong != std::errc() || at == text.data() + text.size() || *at != ' ') return {};
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return number;
}

std::string source_name(std::string_view name) {
  return demangle(std::string(name).c_str());
}

template <class Number>
Number take_number(std::string_view& bytes) {
  Number number = 0;
  if (bytes.size() < sizeof number) {
    bytes = {};
    return 0;
  }
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

} // namespace

void JitSymbols::add(std::uint64_t start, std::uint64_t size, std::string name) {
  const std::uint64_t end = start + size;
  if (size == 0 || end < start || name.empty()) return;
  auto at = functions_.lower_bound(start);
  if (at != functions_.begin() && std::prev(at)->second.end > start) std::prev(at)->second.end = start;
  while (at != functions_.end() && at->first < end)
    at = functions_.erase(at);
  if (functions_.size() < max_functions) functions_[start] = {end, std::move(name)};
}

void JitSymbols::add_map(std::string_view text) {
  for (std::string_view line : base::split(text, '\n')) {
    const auto start = take_hexadecimal(line);
    const auto size = start ? take_hexadecimal(line) : std::nullopt;
    if (size) add(*start, *size, source_name(line));
  }
}

bool JitSymbols::add_dump(std::string_view bytes) {
  constexpr std::uint32_t magic = 0x4A695444, code_load = 0, code_move = 1;
  std::string_view header = bytes;
  const auto found = take_number<std::uint32_t>(header);
  take_number<std::uint32_t>(header); // version
  const auto header_size = take_number<std::uint32_t>(header);
  if (found != magic || header_size < 40 || header_size > bytes.size()) return false;
  bytes.remove_prefix(header_size);
  while (!bytes.empty()) {
    std::string_view prefix = bytes;
    const auto id = take_number<std::uint32_t>(prefix), size = take_number<std::uint32_t>(prefix);
    constexpr std::size_t prefix_size = 16;
    if (size < prefix_size || size > bytes.size()) break; // still being written, or damaged
    std::string_view record = bytes.substr(prefix_size, size - prefix_size);
    bytes.remove_prefix(size);
    if (id != code_load && id != code_move) continue;
    take_number<std::uint64_t>(record); // pid, tid
    take_number<std::uint64_t>(record); // vma: the same address, or that of another view of the memory
    const auto address = take_number<std::uint64_t>(record);
    if (id == code_load) {
      const auto code_size = take_number<std::uint64_t>(record);
      take_number<std::uint64_t>(record); // number of the code
      add(address, code_size, source_name(record.substr(0, record.find('\0'))));
    } else { // from `address`
      const auto moved_to = take_number<std::uint64_t>(record);
      const auto code_size = take_number<std::uint64_t>(record);
      if (const auto* const from = find(address)) add(moved_to, code_size, std::string(from->second.name));
    }
  }
  return true;
}

const std::pair<const std::uint64_t, JitSymbols::Function>* JitSymbols::find(std::uint64_t address) const {
  auto at = functions_.upper_bound(address);
  if (at == functions_.begin() || (--at)->second.end <= address) return nullptr;
  return &*at;
}

std::string perf_map_text(const process::Views& views, std::uint32_t pid, std::string& missing) {
  const std::pair<int, std::uint32_t> places[]{{views.root(pid), views.own_pid(pid)}, {-1, pid}};
  for (const auto& [root, number] : places) {
    const std::string path = fmt::format("/tmp/perf-{}.map", number);
    const process::Fd fd = process::open_regular(path, root, O_NOFOLLOW);
    struct stat status {};
    if (!fd && errno == ENOENT) continue;
    std::string why;
    if (!fd || ::fstat(fd.get(), &status) != 0) {
      why = errno == EINVAL ? "not a regular file" : std::strerror(errno);
    } else if (status.st_uid != 0 && status.st_uid != ::geteuid() && !views.runs_as(pid, status.st_uid)) {
      why =
          fmt::format("it belongs to user {}, not to root, this user or that of the process", status.st_uid);
    } else {
      if (auto text = base::read_all(fd.get(), largest_file)) return *text;
      why = std::strerror(errno);
    }
    missing =
        fmt::format("{}{}: not used: {}", path, root < 0 ? "" : " in the container of the process", why);
    return {};
  }
  return {};
}

KernelSymbols::KernelSymbols(std::string_view text) : text_(text.begin(), text.end()) {
  bool zeros = false;
  for (const std::string_view line : base::split(std::string_view(text_.data(), text_.size()), '\n')) {
    // "ffffffff81000000 T _stext\t[module]"
    const std::size_t blank = line.find(' ');
    if (blank == line.npos || blank + 3 >= line.size()) continue;
    const auto start = base::parse<std::uint64_t>(line.substr(0, blank), 16);
    if (!start) continue;
    zeros = zeros || *start == 0;
    if (std::string_view("tTwW").find(line[blank + 1]) == line.npos || *start == 0) continue;
    std::string_view name = line.substr(blank + 3), module;
    if (const std::size_t tab = name.find_first_of("\t "); tab != name.npos) {
      module = name.substr(tab + 1);
      name = name.substr(0, tab);
    }
    const bool bracketed = module.size() > 2 && module.front() == '[' && module.back() == ']';
    functions_.push_back(
        {name, bracketed ? module.substr(1, module.size() - 2) : std::string_view(), *start});
  }
  std::ranges::stable_sort(functions_, {}, &Function::start);
  // The first of several names of an address is used.
  const auto same_start = [](const Function& a, const Function& b) { return a.start == b.start; };
  functions_.erase(std::unique(functions_.begin(), functions_.end(), same_start), functions_.end());
  for (std::size_t i = 0; i < functions_.size(); ++i)
    functions_[i].end =
        i + 1 < functions_.size() ? functions_[i + 1].start : std::numeric_limits<std::uint64_t>::max();
  if (functions_.empty())
    hidden_ = zeros ? "the kernel hides its addresses" : "kernel symbols cannot be read";
}

KernelSymbols KernelSymbols::here() {
  KernelSymbols symbols(base::read_file("/proc/kallsyms").value_or(""));
  if (!symbols.hidden_.empty())
    symbols.hidden_ +=
        " (kernel.kptr_restrict = " + base::read_trimmed("/proc/sys/kernel/kptr_restrict").value_or("?") +
        ", kernel.perf_event_paranoid = " +
        base::read_trimmed("/proc/sys/kernel/perf_event_paranoid").value_or("?") +
        "; sysctl kernel.kptr_restrict=0 shows them to root)";
  return symbols;
}

std::optional<KernelSymbols::Function> KernelSymbols::find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  if (after == functions_.begin()) return {};
  return *std::prev(after);
}

} // namespace recount::symbol
