#include "kernel/point.hpp"

#include "base/format.hpp"
#include "base/host/disturbance.hpp"
#include "base/text.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::kernel {

std::int64_t number(const Params& point, const std::string& name) {
  return std::get<std::int64_t>(point.at(name));
}

const std::string& text(const Params& point, const std::string& name) {
  return std::get<std::string>(point.at(name));
}

std::vector<Parameter> strided_parameters(std::int64_t min_stride) {
  constexpr auto bytes = Parameter::Unit::bytes;
  constexpr std::int64_t most = std::int64_t{1} << 44;
  return {
      number_parameter("size", "bytes of the array", 32768, min_stride, most, bytes),
      number_parameter("stride", "bytes from one visited element to the next", 64, min_stride, most, bytes),
      number_parameter("rounds",
                       "passes for each byte of stride: every stride makes about rounds x size accesses", 10,
                       0, most),
      number_parameter("passes", "passes beyond rounds x stride (with rounds 0: all of them)", 0, 0, most),
      number_parameter("offset", "bytes from a page boundary to the first element", 0, 0, 4095, bytes),
      pages_parameter()};
}

StridedPoint strided_point(const Kernel& kernel, const Params& given) {
  const Params point = complete(kernel, given);
  StridedPoint at;
  at.size = number(point, "size");
  at.stride = number(point, "stride");
  at.offset = number(point, "offset");
  at.pages = pages(point);
  const std::int64_t rounds = number(point, "rounds"), further = number(point, "passes");
  if (at.stride > at.size)
    throw bad_input(kernel.name() + " --stride", fmt::format("{} exceeds the size, {}", at.stride, at.size),
                    "a stride of at most size / 2 visits more than one element");
  std::int64_t total = 0;
  if (__builtin_mul_overflow(rounds, at.stride, &at.passes) ||
      __builtin_add_overflow(at.passes, further, &at.passes) ||
      __builtin_mul_overflow(at.passes, at.visited(), &total))
    throw bad_input(kernel.name() + " --rounds", "the number of accesses exceeds 64 bits");
  if (at.passes == 0)
    throw bad_input(kernel.name() + " --passes", "no pass at all: rounds and passes are both 0");
  return at;
}

std::string BasicKernel::unsimulated() const {
  return "the counts of " + name_ + " are closed forms";
}

std::int64_t BasicKernel::simulate(const Params&, model::Hierarchy&) const {
  throw unavailable(name_, unsimulated() + "; it has no accesses to replay in a cache");
}

Parameter number_parameter(std::string name, std::string prose, std::int64_t fallback, std::int64_t least,
                           std::int64_t most, Parameter::Unit unit) {
  return {std::move(name), std::move(prose), unit, ParamValue{fallback}, least, most, {}};
}

Parameter choice_parameter(std::string name, std::string prose, std::vector<std::string> choices) {
  const ParamValue first{choices.front()};
  return {std::move(name), std::move(prose), Parameter::Unit::choice, first, 0, 0, std::move(choices)};
}

Parameter text_parameter(std::string name, std::string prose, std::string fallback) {
  return {std::move(name), std::move(prose), Parameter::Unit::text, std::move(fallback), 0, 0, {}};
}

Parameter pages_parameter() {
  return choice_parameter("pagesize", "page size of the data, requested from the system", {"small", "huge"});
}

Memory::Pages pages(const Params& point) {
  return text(point, "pagesize") == "huge" ? Memory::Pages::huge : Memory::Pages::small;
}

void expect(std::vector<Expectation>& all, std::initializer_list<const char*> metrics, Expectation each) {
  for (const char* metric : metrics) {
    each.metric = metric;
    all.push_back(each);
  }
}

Expectation between(std::string metric, double least, double most, std::string form) {
  const double middle = std::sqrt(least * most);
  return {std::move(metric), middle, middle - least, most - middle, std::move(form)};
}

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t small_page() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// AnonHugePages of the mapping that holds `address`, in bytes.
std::int64_t huge_bytes_at(std::uint64_t address) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    const std::string_view text(line), range = text.substr(0, text.find(' ')), name = "AnonHugePages:";
    const auto dash = std::min(range.find('-'), range.size());
    const auto from = base::parse<std::uint64_t>(range.substr(0, dash), 16);
    const auto to = base::parse<std::uint64_t>(range.substr(std::min(dash + 1, range.size())), 16);
    if (from && to)
      inside = *from <= address && address < *to;
    else if (inside && text.starts_with(name)) {
      const auto value = base::trim(text.substr(name.size())); // "2048 kB"
      return base::parse<std::int64_t>(value.substr(0, value.find(' '))).value_or(0) << 10;
    }
  }
  return 0;
}

} // namespace

Memory::Memory(std::int64_t bytes, std::int64_t offset, Pages pages, const std::string& subject)
    : bytes_(bytes), offset_(offset) {
  const std::int64_t available = host::memory_available();
  if (bytes > available)
    throw bad_input(subject,
                    fmt::format("needs {} bytes ({}) of memory, but {} ({}) are available", bytes,
                                base::format_bytes(static_cast<double>(bytes)), available,
                                base::format_bytes(static_cast<double>(available))),
                    "use a smaller size, or free memory (see free(1))");
  const bool huge = pages == Pages::huge;
  const auto wanted = static_cast<std::size_t>(bytes + offset);
  mapped_ = huge ? up(wanted, huge_page) + huge_page : up(wanted, small_page());
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED)
    throw unavailable(subject, std::string("mmap failed: ") + std::strerror(errno), "ulimit -v",
                      "use a smaller size, or raise the limit on address space");
  auto* start = static_cast<std::byte*>(mapping_);
  if (huge)
    start += up(reinterpret_cast<std::uintptr_t>(start), huge_page) - reinterpret_cast<std::uintptr_t>(start);
  // A kernel without transparent huge pages refuses the advice and has nothing but small ones.
  madvise(start, up(wanted, huge ? huge_page : small_page()), huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(start, 0, wanted);
  // memset may be left out by a compiler that sees fresh zeros behind mmap; a volatile write cannot.
  for (std::size_t at = 0; at < wanted; at += small_page())
    *reinterpret_cast<volatile std::byte*>(start + at) = std::byte{0};
  data_ = start + offset;
}

Memory::~Memory() {
  munmap(mapping_, mapped_);
}

Placement Memory::placement() const {
  Placement at;
  at.base = reinterpret_cast<std::uintptr_t>(data_);
  at.bytes = static_cast<std::int64_t>(mapped_);
  at.page = static_cast<std::int64_t>(small_page());
  at.offset = static_cast<std::int64_t>(at.base % small_page());
  at.huge_bytes = std::min(at.bytes, huge_bytes_at(at.base));
  return at;
}

} // namespace recount::kernel
