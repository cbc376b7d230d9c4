// libFuzzer: any bytes as a program or library, as /proc/kallsyms, as a perf map or jitdump file, and as a
// linkage name.
#include "count/symbol/memory_symbols.hpp"
#include "count/symbol/module.hpp"

#include <recount/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace recount;

namespace {

volatile std::size_t seen = 0;

void program(const std::uint8_t* data, std::size_t size) {
  process::Fd file(::memfd_create("fuzz", MFD_CLOEXEC));
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return;
  try {
    const auto module = symbol::open_module(std::move(file), "/nowhere/fuzz");
    seen = seen + module->lacks().size() + module->build_id().size() + module->functions("*a*").size();
    seen = seen + module->inlined("main").value_or(0);
    std::size_t left = 16;
    for (const auto& f : module->functions("*")) {
      if (left-- == 0) break;
      seen = seen + module->frames(f.start).size() + module->bytes(f.start, 64).size();
    }
    for (std::uint64_t offset = 0; offset < size; offset += size / 16 + 1) {
      const auto address = module->address(offset);
      if (!address) continue;
      seen = seen + module->frames(*address).size() + module->function(*address).has_value() +
             module->offset(*address).value_or(0);
    }
  } catch (const Error&) {
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  program(data, size);
  const std::string text(reinterpret_cast<const char*>(data), size);
  seen = seen + symbol::demangle(("_Z" + text).c_str()).size() + symbol::base_name(text).size();
  symbol::JitSymbols generated;
  generated.add_map(text);
  seen = seen + generated.add_dump(text) + (generated.find(0x1000) != nullptr);
  // Behind a header, which mutations rarely find.
  constexpr char header[40] = {0x44, 0x54, 0x69, 0x4A, 1, 0, 0, 0, 40};
  seen = seen + generated.add_dump(std::string(header, sizeof header) + text);
  const symbol::KernelSymbols kernel(text);
  seen = seen + kernel.find(~std::uint64_t{0}).has_value() + kernel.hidden().size();
  return 0;
}
