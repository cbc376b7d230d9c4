// The compiled loops of the built-in kernels, executed under the tool, count what the built-in model counts.
#include "base/process/child.hpp"
#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"
#include "model/metrics.hpp"
#include "model/trace/decoder.hpp"
#include "model/trace/gates.hpp"
#include "model/trace/session.hpp"
#include "model/trace/simulation.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace recount;

/// Simulates the accesses to the kernel's data within its section, as if these were at the assumed base.
class Rebased {
public:
  explicit Rebased(model::Hierarchy& caches) : caches_(&caches) {}
  void block(const trace::Blocks::Block&) {}
  void left(unsigned) {}
  template <bool store>
  void access(std::uint64_t address, unsigned bytes, std::uint32_t) {
    if (address - base_ >= bytes_) return;
    const std::uint64_t there = address - base_ + kernel::assumed_base;
    store ? caches_->store(there, bytes) : caches_->load(there, bytes);
  }
  void thread(std::uint64_t) {}
  void module(const trace::Module&) {}
  void undecoded(const trace::Undecoded&) {}
  void section(std::string_view text) {
    bytes_ = 0;
    const std::string name(text.substr(text.rfind(' ') + 1));
    unsigned long long base = 0, bytes = 0;
    if (!text.starts_with("begin") || std::sscanf(name.c_str(), "%llx+%llx", &base, &bytes) != 2) return;
    base_ = base;
    bytes_ = bytes;
  }
  [[nodiscard]] std::unique_ptr<Rebased> forked(std::uint32_t) const {
    return std::make_unique<Rebased>(*caches_);
  }

private:
  model::Hierarchy* caches_;
  std::uint64_t base_ = 0, bytes_ = 0;
};

/// Executes the program under the tool.
void trace_kernel(const std::vector<std::string>& command, model::Hierarchy& caches) {
  trace::Blocks blocks;
  trace::Session session(
      [&](std::uint32_t, std::uint32_t) {
        return std::make_unique<trace::Decoder<Rebased>>(blocks, std::make_unique<Rebased>(caches));
      },
      [](trace::Reader&) {});
  const auto tool = trace::tool_command(command, {session.channel(), true});
  const process::Fd sink = process::null_output();
  process::Spawn spawn{tool.argv};
  spawn.environment = tool.environment;
  spawn.descriptors = trace::descriptors(sink, true);
  process::Child child(spawn);
  const process::Exit exit = child.wait();
  session.finish();
  BOOST_TEST(session.missing(exit) == "");
  BOOST_TEST_REQUIRE(exit.ok(), process::describe(exit));
}

std::vector<std::string> command_of(const kernel::Params& point) {
  std::vector<std::string> words{KERNEL_PROGRAM, "matmul"};
  for (const auto& [name, value] : point)
    words.push_back(name + "=" +
                    (std::holds_alternative<std::string>(value)
                         ? std::get<std::string>(value)
                         : std::to_string(std::get<std::int64_t>(value))));
  return words;
}

void compare(const kernel::Params& given, const std::string& machine) {
  const kernel::Kernel& matmul = kernel::find("matmul");
  const auto point = kernel::complete(matmul, given);
  model::Hierarchy traced(model::machine(machine)), built_in(model::machine(machine));
  trace_kernel(command_of(given), traced);
  matmul.simulate(point, built_in);
  const auto expected = model::metrics(built_in), counted = model::metrics(traced);
  BOOST_TEST(expected.at("PAPI_L1_DCM") > 0);
  for (const auto& [name, value] : expected)
    BOOST_TEST_CONTEXT(name) BOOST_TEST(counted.at(name) == value);
}

/// Why nothing can be traced here; empty: it can.
std::string untraceable() {
  ::setenv("RECOUNT_LIBEXEC", TRACE_TOOL, 1);
  return trace::untraceable();
}

} // namespace

BOOST_AUTO_TEST_CASE(every_variant_of_matmul_for_two_element_types) {
  if (const std::string why = untraceable(); !why.empty()) return test::skip(why);
  for (const char* variant : {"ijk", "ijk-mem", "ikj", "transposed", "blocked"})
    for (const char* element : {"f64", "i16"})
      BOOST_TEST_CONTEXT(variant << " " << element)
  compare({{"variant", variant}, {"element", element}, {"n", std::int64_t{93}}}, "i7-9700-l3");
}

BOOST_AUTO_TEST_CASE(levels_beyond_the_first_and_tlbs) {
  if (const std::string why = untraceable(); !why.empty()) return test::skip(why);
  for (const char* machine : {"i7-9700-l3", "i7-9700-prefetch", "i7-2600", "ryzen-3700x"})
    BOOST_TEST_CONTEXT(machine)
  compare({{"variant", "ijk"}, {"element", "f64"}, {"n", std::int64_t{181}}}, machine);
}
