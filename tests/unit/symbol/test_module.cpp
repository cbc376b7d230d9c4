// Functions and lines of programs that this build made; and files that are none.
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"
#include "count/symbol/disassembly.hpp"
#include "count/symbol/module.hpp"
#include "fixture_lines.hpp"
#include "skip.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

using namespace recount;
using recount::test::line_of;
using symbol::Module;

BOOST_AUTO_TEST_SUITE(module)

namespace {

using Opened = std::unique_ptr<Module>;

Opened open_fixture(const std::string& name) {
  const std::string path = std::string(FIXTURES) + "/" + name;
  return symbol::open_module(process::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
}

/// Some address in the function whose innermost line is that of a comment; 0: none has it.
std::uint64_t address_of_line(Module& module, const symbol::Named& function, const std::string& file,
                              int line) {
  for (std::uint64_t at = function.start; at < function.end; ++at) {
    const auto frames = module.frames(at);
    if (frames[0].line == line && frames[0].file.ends_with(file)) return at;
  }
  return 0;
}

Opened from_bytes(const std::string& bytes) {
  process::Fd file(::memfd_create("test", MFD_CLOEXEC));
  BOOST_REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return symbol::open_module(std::move(file), "test");
}

std::string contents(const std::string& path) {
  return base::read_file(path).value_or("");
}

} // namespace

BOOST_AUTO_TEST_CASE(finds_function_by_name_and_line_by_address) {
  const Opened m = open_fixture("profiled");
  const auto found = m->functions("work::write_often");
  BOOST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0].name == "work::write_often(long)");
  BOOST_TEST(found[0].linkage == "_ZN4work11write_oftenEl");
  const auto at = address_of_line(*m, found[0], "profiled.cpp", line_of("profiled.cpp", "plain write"));
  BOOST_REQUIRE(at != 0U);
  const auto frames = m->frames(at);
  BOOST_REQUIRE(frames.size() == 1U);
  BOOST_TEST(frames[0].function == "work::write_often(long)");
  BOOST_TEST(!frames[0].inlined);
  BOOST_TEST(m->function(at)->start == found[0].start);
  BOOST_TEST(m->lacks().empty());
}

BOOST_AUTO_TEST_CASE(inlined_frame_has_location_of_its_call) {
  const Opened m = open_fixture("profiled");
  const auto outer = m->functions("work::write_inlined").at(0);
  const auto at = address_of_line(*m, outer, "profiled.cpp", line_of("profiled.cpp", "inlined write"));
  BOOST_REQUIRE(at != 0U);
  const auto frames = m->frames(at);
  BOOST_REQUIRE(frames.size() == 2U);
  BOOST_TEST(frames[0].inlined);
  BOOST_TEST(frames[0].function == "void work::bump<long>(long volatile&, long)");
  BOOST_TEST(frames[1].function == "work::write_inlined(long)");
  BOOST_TEST(frames[1].line == line_of("profiled.cpp", "call of the inlined"));
  BOOST_TEST(m->inlined("work::bump<long>").value() == 1U);
  BOOST_TEST(m->inlined("work::write_often").value() == 0U);
}

BOOST_AUTO_TEST_CASE(patterns_match_linkage_demangled_and_base_names) {
  const Opened m = open_fixture("profiled");
  BOOST_TEST(m->functions("work::write_*").size() == 2U);
  BOOST_TEST(m->functions("_ZN4work11write_oftenEl").size() == 1U);
  BOOST_TEST(m->functions("work::write_often(long)").size() == 1U);
  BOOST_TEST(m->functions("main").size() == 1U);
  BOOST_TEST(m->functions("write_often").empty());
  BOOST_TEST(m->functions("*::called").size() == 1U);
  BOOST_TEST(m->variables("work::counter").size() == 1U);
  BOOST_TEST(m->variables("work::counter")[0].end - m->variables("work::counter")[0].start == sizeof(long));
}

BOOST_AUTO_TEST_CASE(stripped_library_uses_its_debug_file) {
  const Opened m = open_fixture("libprofiled.so");
  const auto hidden = m->functions("*::hidden_write");
  BOOST_REQUIRE(hidden.size() == 1U);
  const auto at = address_of_line(*m, hidden[0], "library.cpp", line_of("library.cpp", "hidden write"));
  BOOST_REQUIRE(at != 0U);
  BOOST_TEST(m->frames(at).back().function.starts_with("(anonymous namespace)::hidden_write("));
  BOOST_TEST(m->build_id().size() == 20U);
}

BOOST_AUTO_TEST_CASE(stripped_library_alone_has_exported_names_and_reports_the_lack) {
  const Opened m = from_bytes(contents(std::string(FIXTURES) + "/libprofiled.so"));
  const auto exported = m->functions("library_write");
  BOOST_REQUIRE(exported.size() == 1U);
  const auto frames = m->frames(exported[0].start);
  BOOST_TEST(frames[0].function == "library_write(long)");
  BOOST_TEST(frames[0].line == 0);
  BOOST_TEST(m->functions("*hidden*").empty());
  BOOST_TEST(m->lacks().find("stripped") != std::string::npos);
  BOOST_TEST(m->lacks().find("build id") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(debug_path_is_searched_by_build_id) {
  const process::TemporaryFolder folder("recount-debug");
  const Opened plain = open_fixture("libprofiled.so");
  std::string id;
  for (const unsigned char byte : plain->build_id())
    id += "0123456789abcdef"[byte >> 4U], id += "0123456789abcdef"[byte & 15U];
  const std::string first = folder.path() + "/.build-id", second = first + "/" + id.substr(0, 2);
  const std::string file = second + "/" + id.substr(2) + ".debug";
  ::mkdir(first.c_str(), 0755);
  ::mkdir(second.c_str(), 0755);
  BOOST_REQUIRE(::symlink((std::string(FIXTURES) + "/libprofiled.so.debug").c_str(), file.c_str()) == 0);
  process::Fd bytes(::memfd_create("test", MFD_CLOEXEC)); // as a file, none lies beside it
  const std::string all = contents(std::string(FIXTURES) + "/libprofiled.so");
  BOOST_REQUIRE(::write(bytes.get(), all.data(), all.size()) == static_cast<ssize_t>(all.size()));
  const Opened m = symbol::open_module(std::move(bytes), "/nowhere/library.so", folder.path());
  BOOST_TEST(m->functions("*::hidden_write").size() == 1U);
}

BOOST_AUTO_TEST_CASE(offset_and_address_are_inverse) {
  const Opened m = open_fixture("profiled");
  const auto start = m->functions("main")[0].start;
  const auto offset = m->offset(start);
  BOOST_REQUIRE(offset.has_value());
  BOOST_TEST(m->address(*offset).value() == start);
  BOOST_TEST(!m->address(~std::uint64_t{0} / 2).has_value());
  BOOST_TEST(m->bytes(start, 16).size() == 16U);
}

BOOST_AUTO_TEST_CASE(exits_are_all_known_or_none) {
  const Opened m = open_fixture("profiled");
  const auto exits_of = [&](const std::string& name) {
    std::vector<symbol::Code> parts;
    for (const auto& part : m->parts(m->functions(name).at(0)))
      parts.push_back({part.start, m->bytes(part.start, part.end - part.start)});
    return symbol::exits(m->machine(), parts);
  };
  BOOST_TEST(exits_of("work::called").value().size() == 1U);
  BOOST_TEST(exits_of("work::tail_caller").value().size() == 1U); // a jump
  BOOST_TEST(m->parts(m->functions("work::throws").at(0)).size() == 2U);
  BOOST_TEST(exits_of("work::throws").value().size() == 1U);
  const std::vector<unsigned char> computed{0xff, 0xe0}; // jmp rax
  const std::vector<unsigned char> nonsense{0x06, 0xc3};
  const std::vector<unsigned char> conditional{0x74, 0x70, 0xc3}; // je far away; ret
  for (const auto& code : {computed, nonsense, conditional})
    BOOST_TEST(!symbol::exits(EM_X86_64, {{0x1000, code}}).has_value());
  BOOST_TEST(symbol::exits(EM_X86_64, {{0x1000, {0x74, 0x01, 0x90, 0xc3}}}).value().size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_vdso_has_names) {
  const auto m = symbol::vdso();
  if (!m) return test::skip("a kernel without a vDSO");
  BOOST_TEST((m->functions("__vdso_clock_gettime").size() + m->functions("__kernel_clock_gettime").size()) ==
             1U);
}

BOOST_AUTO_TEST_CASE(interpreter_and_entry_are_read_from_the_headers) {
  const Opened program = open_fixture("profiled"), library = open_fixture("libprofiled.so");
  BOOST_TEST(program->interpreter().find("/ld-") != std::string::npos);
  BOOST_TEST(library->interpreter().empty());
  BOOST_TEST(program->function(program->entry())->linkage == "_start");
  BOOST_TEST(symbol::entry_to_main(std::string(FIXTURES) + "/profiled") == 0U); // linked dynamically
}

BOOST_AUTO_TEST_CASE(rejects_files_that_are_no_program) {
  BOOST_CHECK_THROW(open_fixture("no-such-file"), Error);
  BOOST_CHECK_THROW(from_bytes(""), Error);
  BOOST_CHECK_THROW(from_bytes("#!/bin/sh\n"), Error);
  BOOST_CHECK_THROW(from_bytes(contents(FIXTURES "/profiled").substr(0, 40)), Error);
  BOOST_CHECK_THROW(
      static_cast<void>(symbol::open_module(process::Fd(::open("/dev/null", O_RDONLY)), "/dev/null")), Error);
}

BOOST_AUTO_TEST_CASE(damaged_program_is_rejected_or_read) {
  const std::string whole = contents(std::string(FIXTURES) + "/profiled");
  unsigned state = 1;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 50; ++i) {
      state = state * 1664525U + 1013904223U;
      // The first bytes and the last hold the headers.
      const std::size_t where = state % 3 == 0 ? (state >> 8U) % 1024 : (state >> 4U) % damaged.size();
      damaged[where] = static_cast<char>(state >> 24U);
    }
    if (round % 3 == 0) damaged.resize(damaged.size() - state % damaged.size());
    try {
      const Opened m = from_bytes(damaged);
      for (const auto& f : m->functions("*wr*"))
        BOOST_TEST(!m->frames(f.start).empty());
      static_cast<void>(m->inlined("work::bump<long>"));
    } catch (const Error&) {
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
