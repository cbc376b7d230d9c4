#include "papi_child.hpp"

#include "base/process/child.hpp"

#include <papi.h>
#include <perfmon/pfmlib.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace recount::test {
namespace {

constexpr char separator = '\x1f';

void say(int fd, std::initializer_list<std::string> words) {
  std::string line;
  for (const auto& word : words)
    line += word + separator;
  line += '\x1e';
  if (write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(71);
}

/// Something to count: page faults and time.
void region() {
  constexpr std::size_t pages = 17;
  void* const memory =
      mmap(nullptr, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(72);
  for (std::size_t i = 0; i < pages; ++i)
    static_cast<volatile char*>(memory)[i * 4096] = 1;
  munmap(memory, pages * 4096);
}

/// Describes the preset, then reads it beside its natives; may die at any step.
void try_preset(int fd, const std::string& name, int code, const Preset* expected) {
  PAPI_event_info_t info{};
  if (expected && !expected->half_read && PAPI_get_event_info(code, &info) == PAPI_OK)
    say(fd, {"info", name, info.derived, std::to_string(info.count), info.postfix});
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  const int added = PAPI_add_event(set, code);
  say(fd, {"added", name, std::to_string(added)});
  if (added != PAPI_OK || !expected) return;
  std::vector<int> codes;
  for (const PresetNative& native : expected->natives) {
    int one = 0;
    if (PAPI_event_name_to_code(native.name.c_str(), &one) != PAPI_OK) return;
    if (PAPI_add_event(set, one) == PAPI_OK) codes.push_back(one);
  }
  if (PAPI_start(set) != PAPI_OK) return;
  region();
  std::vector<long long> values(codes.size() + 1, -77);
  if (PAPI_stop(set, values.data()) != PAPI_OK) return;
  std::string counts;
  for (const PresetNative& native : expected->natives) {
    int one = 0;
    PAPI_event_name_to_code(native.name.c_str(), &one);
    std::size_t at = 0;
    while (at < codes.size() && codes[at] != one)
      ++at;
    counts += std::to_string(at < codes.size() ? values[at + 1] : 0) + " ";
  }
  say(fd, {"value", name, std::to_string(values[0]), counts});
}

void try_apart(int fd, const std::string& name, const Preset* expected) {
  int code = 0;
  if (PAPI_event_name_to_code(name.c_str(), &code) != PAPI_OK || PAPI_query_event(code) != PAPI_OK) return;
  say(fd, {"available", name});
  const pid_t child = fork();
  if (child == 0) {
    try_preset(fd, name, code, expected);
    _exit(0);
  }
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status))
    say(fd, {"killed", name, std::to_string(WTERMSIG(status))});
}

int body(int fd, const std::string& table, const std::vector<std::string>& names,
         const LoadedTable& expected) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  pfm_terminate(); // this process must find libpfm4 as any program does
  unsetenv("LIBPFM_ENCODE_INACTIVE");
  const int file = memfd_create("table", 0);
  if (write(file, table.data(), table.size()) != static_cast<ssize_t>(table.size())) return 73;
  setenv("PAPI_CSV_EVENT_FILE", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
  const int init = PAPI_library_init(PAPI_VER_CURRENT);
  const PAPI_hw_info_t* const hardware = PAPI_get_hardware_info();
  say(fd, {"loaded", std::to_string(init), std::to_string(hardware ? hardware->cpu_max_mhz : 0)});
  for (const auto& name : names)
    try_apart(fd, name, expected.find(name));
  return 0;
}

std::vector<std::string> words(const std::string& line, char at) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, at);)
    out.push_back(word);
  return out;
}

void take(PapiRun& run, const std::vector<std::string>& w) {
  if (w.size() >= 3 && w[0] == "loaded") {
    run.loaded = true;
    run.init = std::stoi(w[1]);
    run.max_mhz = std::stoi(w[2]);
    return;
  }
  if (w.size() < 2) return;
  Seen& seen = run.presets[w[1]];
  if (w[0] == "available") seen.available = true;
  if (w[0] == "added") seen.added = std::stoi(w.at(2));
  if (w[0] == "killed") seen.signal = std::stoi(w.at(2));
  if (w[0] == "info") {
    seen.described = true;
    seen.derived = w.at(2);
    seen.count = std::stoi(w.at(3));
    seen.postfix = w.size() > 4 ? w[4] : "";
  }
  if (w[0] == "value") {
    seen.value = std::stoll(w.at(2));
    if (w.size() > 3)
      for (const auto& count : words(w[3], ' '))
        seen.counts.push_back(std::stoll(count));
  }
}

} // namespace

PapiRun run_papi(const std::string& table, const std::vector<std::string>& names,
                 const LoadedTable& expected) {
  PapiRun run;
  const auto captured = process::in_fork([&](int fd) { return body(fd, table, names, expected); },
                                         std::chrono::milliseconds(20000));
  run.end = process::describe(captured.exit);
  for (const auto& line : words(captured.out, '\x1e'))
    take(run, words(line, separator));
  return run;
}

} // namespace recount::test
