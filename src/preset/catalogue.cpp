#include "preset/catalogue.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "preset/preset_table.hpp"

#include <recount/error.hpp>

#include <linux/perf_event.h>
#define ZLIB_CONST // its input is constant
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <functional>
#include <memory>

// The file as bytes of the program: 2 MB of text are too long for a string literal.
__asm__(".pushsection .rodata\n"
        ".global recount_catalogue, recount_catalogue_end\n"
        "recount_catalogue: .incbin \"" RECOUNT_CATALOGUE "\"\n"
        "recount_catalogue_end: .byte 0\n"
        ".popsection\n");
extern "C" {
__attribute__((visibility("hidden"))) extern const unsigned char recount_catalogue[], recount_catalogue_end[];
}

namespace recount::preset {
namespace {

using event::pfm::Table;

constexpr std::string_view head = "# recount event catalogue 1: ";
constexpr std::size_t largest =
    256 << 20; // of a text: a compressed file of a few bytes can expand to any size
constexpr auto remedy = "write one with scripts/event-catalogue LIBPFM4-SOURCES";
constexpr std::uint32_t no_kernel_type = 0x7fffffff;

/// What zlib reads from bytes: gzip, or the bytes themselves.
std::string expanded(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with("\x1f\x8b")) return std::string(bytes);
  z_stream stream{};
  constexpr int gzip_only = 16;
  if (inflateInit2(&stream, MAX_WBITS + gzip_only) != Z_OK)
    throw bad_input(name, "zlib cannot be initialised");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::vector<char> piece(1 << 18);
  for (int result = Z_OK; result != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
    if (result != Z_OK && result != Z_STREAM_END)
      throw bad_input(name, "damaged or truncated gzip data", remedy);
    if (text.size() > largest) throw bad_input(name, "too large for an event catalogue", remedy);
  }
  return text;
}

template <class Number>
bool number(std::string_view text, Number& into, int base = 10) {
  const auto value = base::parse<Number>(text, base);
  if (value) into = *value;
  return value.has_value();
}

[[noreturn]] void malformed(const std::string& name, std::string_view line) {
  throw bad_input(name, fmt::format("not a line of an event catalogue: '{}'", line.substr(0, 60)), remedy);
}

/// "P", id, counters, fixed counters, name, description.
Table pmu_of(std::string_view line, const std::string& name) {
  const auto fields = base::split(line, '\t');
  Table pmu;
  pmu.kind = Table::Kind::core;
  if (fields.size() != 6 || !number(fields[1], pmu.id) || !number(fields[2], pmu.counters) ||
      !number(fields[3], pmu.fixed_counters) || fields[4].empty())
    malformed(name, line);
  pmu.name = fields[4];
  pmu.prose = fields[5];
  return pmu;
}

} // namespace

Catalogue Catalogue::of(std::string text, const std::string& name) {
  Catalogue catalogue;
  catalogue.text_ = std::move(text);
  const std::string_view all = catalogue.text_;
  if (!all.starts_with(head)) throw bad_input(name, "not an event catalogue", remedy);
  catalogue.source_ = base::trim(all.substr(head.size(), all.find('\n') - head.size()));
  for (std::size_t at = all.find("\nP\t"); at != all.npos; at = all.find("\nP\t", at + 1)) {
    catalogue.pmus_.push_back(pmu_of(all.substr(at + 1, all.find('\n', at + 1) - at - 1), name));
    catalogue.begins_.push_back(at + 1);
  }
  if (catalogue.pmus_.empty()) throw bad_input(name, "an event catalogue without PMUs", remedy);
  return catalogue;
}

Catalogue Catalogue::read(const std::string& path) {
  return of(expanded(read_file(path, remedy), path), path);
}

const Catalogue& Catalogue::built_in() {
  static const Catalogue catalogue =
      of(expanded({reinterpret_cast<const char*>(recount_catalogue),
                   static_cast<std::size_t>(recount_catalogue_end - recount_catalogue)},
                  "built-in event catalogue"),
         "built-in event catalogue");
  return catalogue;
}

const Table* Catalogue::find(std::string_view name) const noexcept {
  const auto at = std::ranges::find_if(pmus_, [&](const Table& pmu) { return same_word(pmu.name, name); });
  return at == pmus_.end() ? nullptr : &*at;
}

CatalogueEvents Catalogue::events(const Table& pmu) const {
  CatalogueEvents out;
  const auto which = static_cast<std::size_t>(&pmu - pmus_.data());
  const std::size_t end = which + 1 < begins_.size() ? begins_[which + 1] : text_.size();
  const std::string_view block = std::string_view(text_).substr(begins_[which], end - begins_[which]);
  const auto lines = base::split(block, '\n');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const auto fields = base::split(line, '\t');
    std::uint64_t code = 0;
    if (line.empty()) continue;
    if (fields[0] == "M" && fields.size() == 2) {
      for (const std::string_view modifier : base::split(fields[1], ' '))
        out.modifiers.emplace_back(modifier);
    } else if (fields[0] == "E" && fields.size() == 5 && number(fields[1], code, 16)) {
      out.entries.push_back({std::string(fields[2]), std::string(fields[4]), std::string(fields[3]),
                             static_cast<int>(out.entries.size())});
      out.codes.push_back(code);
      out.masks.emplace_back();
    } else if (fields[0] == "U" && fields.size() == 5 && number(fields[1], code, 16) && !out.masks.empty()) {
      out.masks.back().push_back(
          {{std::string(fields[2]), std::string(fields[4]), false, fields[3] == "default"}, code});
    } else {
      malformed(source_, line);
    }
  }
  return out;
}

CatalogueCode encode(const Table& pmu, std::uint64_t event, const std::vector<std::uint64_t>& masks,
                     std::vector<std::string> modifiers) {
  CatalogueCode out;
  std::uint64_t mask = 0;
  for (const std::uint64_t one : masks)
    mask |= one;
  const std::string_view prose = pmu.prose;
  // perf's raw format of x86: event select in bits 0 to 7, of AMD also in 32 to 35, unit mask in 8 to 15
  if (prose.starts_with("Intel")) {
    out.type = PERF_TYPE_RAW;
    out.config = event | mask << 8;
  } else if (prose.starts_with("AMD")) {
    out.type = PERF_TYPE_RAW;
    out.config = (event & 0xff) | mask << 8 | (event >> 8) << 32;
  } else {
    out.type = no_kernel_type;
    out.config = event | mask << 32;
  }
  std::ranges::sort(modifiers);
  for (const std::string& modifier : modifiers)
    out.config1 = out.config1 * 31 + std::hash<std::string>{}(modifier) + 1;
  return out;
}

} // namespace recount::preset
