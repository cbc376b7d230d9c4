// Names of generated code: perf maps and jitdump files.
#include "count/symbol/memory_symbols.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace recount;
using symbol::JitSymbols;

BOOST_AUTO_TEST_SUITE(jit_symbols)

namespace {

std::string name_at(const JitSymbols& symbols, std::uint64_t address) {
  const auto* const found = symbols.find(address);
  return found == nullptr ? "?" : found->second.name;
}

/// Numbers and texts in the byte order of this machine.
class Bytes {
public:
  template <class Number>
  Bytes& add(Number number) {
    all_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Bytes& add(const std::string& text) {
    all_.append(text.c_str(), text.size() + 1);
    return *this;
  }
  [[nodiscard]] const std::string& all() const { return all_; }

private:
  std::string all_;
};

std::string record(std::uint32_t id, const Bytes& body) {
  return Bytes().add(id).add(static_cast<std::uint32_t>(16 + body.all().size())).add(std::uint64_t{5}).all() +
         body.all();
}

std::string load(std::uint64_t address, std::uint64_t size, const std::string& name) {
  return record(
      0, Bytes().add(std::uint64_t{1}).add(address).add(address).add(size).add(std::uint64_t{9}).add(name));
}

std::string dump(const std::string& records) {
  Bytes header;
  for (const std::uint32_t number : {0x4A695444U, 1U, 40U, 62U, 0U, 77U, 0U, 0U, 0U, 0U})
    header.add(number);
  return header.all() + records;
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_of_a_map) {
  JitSymbols symbols;
  symbols.add_map(
      "7f00 10 LazyCompile:~hot /a b.js:3\n0x8000 0x20 _ZN1a1bEv\nbad line\n9000 zz no\n9100 0 empty\n"
      "ffffffffffffffff 10 wraps\n");
  BOOST_TEST(name_at(symbols, 0x7f00) == "LazyCompile:~hot /a b.js:3");
  BOOST_TEST(name_at(symbols, 0x7f0f) == "LazyCompile:~hot /a b.js:3");
  BOOST_TEST(name_at(symbols, 0x7f10) == "?");
  BOOST_TEST(name_at(symbols, 0x7eff) == "?");
  BOOST_TEST(name_at(symbols, 0x8001) == "a::b()");
  BOOST_TEST(name_at(symbols, 0x9000) == "?");
  BOOST_TEST(name_at(symbols, ~0ULL) == "?");
}

BOOST_AUTO_TEST_CASE(later_code_replaces_earlier_code) {
  JitSymbols symbols;
  symbols.add_map("1000 100 a\n1100 100 b\n1080 100 c\n");
  BOOST_TEST(name_at(symbols, 0x107f) == "a");
  BOOST_TEST(name_at(symbols, 0x1080) == "c");
  BOOST_TEST(name_at(symbols, 0x117f) == "c");
  BOOST_TEST(name_at(symbols, 0x1180) == "?"); // what is left of b begins within it
  symbols.add_map("2000 1000 large\n2100 10 small\n");
  BOOST_TEST(name_at(symbols, 0x20ff) == "large");
  BOOST_TEST(name_at(symbols, 0x210f) == "small");
  BOOST_TEST(name_at(symbols, 0x2110) == "?"); // the code of the large one was overwritten
}

BOOST_AUTO_TEST_CASE(records_of_a_dump) {
  JitSymbols symbols;
  const std::string moved = record(1, Bytes()
                                          .add(std::uint64_t{1})
                                          .add(std::uint64_t{0})
                                          .add(std::uint64_t{0x1000})
                                          .add(std::uint64_t{0x5000})
                                          .add(std::uint64_t{0x10})
                                          .add(std::uint64_t{9}));
  BOOST_TEST(
      symbols.add_dump(dump(load(0x1000, 0x10, "hot") + record(2, Bytes().add(std::uint64_t{0})) + moved)));
  BOOST_TEST(name_at(symbols, 0x1008) == "hot");
  BOOST_TEST(name_at(symbols, 0x5008) == "hot");
  BOOST_TEST(!JitSymbols().add_dump("no dump"));
}

BOOST_AUTO_TEST_CASE(damaged_dumps_do_no_harm) {
  const std::string good = dump(load(0x1000, 0x10, "hot") + load(0x2000, 0x10, "cold"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    JitSymbols symbols;
    symbols.add_dump(std::string_view(good).substr(0, size));
    BOOST_TEST(name_at(symbols, 0x2008) == "?");
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    JitSymbols symbols;
    symbols.add_dump(bytes);
  }
}

BOOST_AUTO_TEST_CASE(maps_are_not_read_through_links) {
  namespace fs = std::filesystem;
  const std::uint32_t pid = 0x7ffffff0; // above any PID of Linux
  const fs::path map = "/tmp/perf-" + std::to_string(pid) + ".map", target = map.string() + ".target";
  std::ofstream(target) << "1000 10 hot\n";
  std::string missing;
  fs::remove(map);
  BOOST_TEST(symbol::perf_map_text(process::Views(), pid, missing).empty());
  BOOST_TEST(missing.empty());
  fs::create_symlink(target, map);
  BOOST_TEST(symbol::perf_map_text(process::Views(), pid, missing).empty());
  BOOST_TEST(missing.find("not used") != std::string::npos);
  fs::remove(map);
  fs::rename(target, map);
  missing.clear();
  BOOST_TEST(symbol::perf_map_text(process::Views(), pid, missing) == "1000 10 hot\n");
  BOOST_TEST(missing.empty());
  if (::geteuid() == 0 && ::chown(map.c_str(), 1, 1) == 0) {
    BOOST_TEST(symbol::perf_map_text(process::Views(), pid, missing).empty());
    BOOST_TEST(missing.find("belongs to user 1") != std::string::npos);
  }
  fs::remove(map);
}

BOOST_AUTO_TEST_SUITE_END()
