// The program that the check's tests start for each run: it knows their kernel, and lies where it is told to.
//   CHECK_LIE = papi-doubles | perf-drifts | both-waver | dies
#include "pages.hpp"
#include "run/result/observation.hpp"
#include "run/worker.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <unistd.h>

using namespace recount;

namespace {

const kernel::Kernel& lookup(const std::string& name) {
  return name == "pages" ? test::pages_kernel() : kernel::find(name);
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> block{};
  for (ssize_t got = 0; (got = ::read(fd, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(got));
  return text;
}

/// A broken witness: what it counts is altered before anybody sees it.
void falsify(result::Observation& o, const std::string& lie) {
  auto* const value = std::get_if<std::int64_t>(&o.value);
  if (!value) return;
  if (lie == "papi-doubles" && o.witness == "papi") *value *= 2;
  if (lie == "perf-drifts" && o.witness == "perf") *value += 10 * (o.repetition + 1);
  if (lie == "both-waver" && o.witness != "model") *value += o.repetition % 2 == 0 ? *value / 2 : -*value / 2;
}

int tamper(const std::string& lie) {
  if (lie == "dies") std::abort();
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return 70;
  const int status = sweep::serve(0, ends[1], lookup); // an answer is far smaller than a pipe's buffer
  ::close(ends[1]);
  std::istringstream lines(read_to_end(ends[0]));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(R"({"type":"observation")")) {
      auto o = std::get<result::Observation>(result::parse_line(line, "runner"));
      falsify(o, lie);
      line = result::to_line(o);
    }
    std::cout << line << "\n";
  }
  return status;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "run-point") != 0) return 2;
  const char* const lie = std::getenv("CHECK_LIE");
  return lie ? tamper(lie) : sweep::serve(0, 1, lookup);
}
