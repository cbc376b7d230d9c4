// libFuzzer: any bytes from a peer, and any from a program that marks its sections. Nothing may crash or
// hang, memory is bounded, and what is taken comes back as it was.
#include "commands/watch/message.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace recount::watch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Trace trace(10);
  static_cast<void>(trace.add(Hello{"x", 100, {{"a", "/s", ""}}}));
  LineReader reader;
  static_cast<void>(reader.feed(bytes, [&](const Message& message) {
    static_cast<void>(trace.add(message));
    const std::string line = to_line(message);
    const auto again = parse_line(line);
    if (!again || to_line(*again) != line) std::abort();
  }));
  if (trace.intervals().size() > 10 || trace.sections().size() > 10 || trace.open().size() > 64) std::abort();
  parse_sections(bytes, 1'000'000'000, 3'000'000'000, [](const Message& message) {
    const auto* section = std::get_if<Section>(&message);
    if (section && (section->name.size() > 200 || section->time < 0 || section->time > 2)) std::abort();
  });
  return 0;
}
