#include "symbol/kernel_symbols.hpp"

#include "base/text.hpp"
#include "host/sysctl.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace recount::symbol {

KernelSymbols::KernelSymbols(std::string text) : text_(std::move(text)) {
  const std::string_view all(text_.data(), std::min<std::size_t>(text_.size(), 1U << 30));
  bool zeros = false;
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = std::min(all.find('\n', from), all.size());
    const std::string_view line = all.substr(from, end - from); // "ffffffff81000000 T _stext\t[module]"
    from = end + 1;
    Entry e;
    const auto [at, wrong] = std::from_chars(line.data(), line.data() + line.size(), e.start, 16);
    const auto kind = static_cast<std::size_t>(at - line.data());
    if (wrong != std::errc() || kind + 3 >= line.size()) continue;
    zeros = zeros || e.start == 0;
    if (std::string_view("tTwW").find(line[kind + 1]) == std::string_view::npos || e.start == 0) continue;
    const std::size_t name = kind + 3, name_end = std::min(line.find_first_of("\t ", name), line.size());
    e.name = static_cast<std::uint32_t>(line.data() + name - all.data());
    e.name_size = static_cast<std::uint32_t>(name_end - name);
    const std::size_t open = line.find('[', name_end), close = line.find(']', name_end);
    if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
      e.module = static_cast<std::uint32_t>(line.data() + open + 1 - all.data());
      e.module_size = static_cast<std::uint32_t>(close - open - 1);
    }
    entries_.push_back(e);
  }
  std::ranges::stable_sort(entries_, {}, &Entry::start);
  if (entries_.empty()) hidden_ = zeros ? "the kernel hides its addresses" : "kernel symbols cannot be read";
}

KernelSymbols KernelSymbols::here() {
  KernelSymbols made(base::read_file("/proc/kallsyms").value_or(""));
  if (!made.hidden_.empty())
    made.hidden_ +=
        " (kernel.kptr_restrict = " + base::read_line("/proc/sys/kernel/kptr_restrict").value_or("?") +
        ", kernel.perf_event_paranoid = " +
        base::read_line("/proc/sys/kernel/perf_event_paranoid").value_or("?") +
        "; sysctl kernel.kptr_restrict=0 shows them to root)";
  return made;
}

std::optional<KernelSymbols::Found> KernelSymbols::find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::start);
  if (after == entries_.begin()) return {};
  auto at = std::prev(after);
  while (at != entries_.begin() && std::prev(at)->start == at->start) // the first of several names
    --at;
  const std::uint64_t end =
      after == entries_.end() ? std::numeric_limits<std::uint64_t>::max() : after->start;
  return Found{std::string_view(text_).substr(at->name, at->name_size),
               std::string_view(text_).substr(at->module, at->module_size), at->start, end};
}

} // namespace recount::symbol
