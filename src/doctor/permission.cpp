// Permission: tested, not derived from the paranoid level, since distributions patch its meaning.
#include "host/sysctl.hpp"
#include "doctor/doctor.hpp"
#include "process/child.hpp"
#include "process/write_all.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <cstring>
#include <fmt/format.h>
#include <grp.h>
#include <sys/personality.h>
#include <unistd.h>

namespace recount::doctor {
namespace {
using State = Finding::State;
using namespace std::chrono_literals;

/// What a process may observe, by opening a software event in each way.
struct Scope {
  bool user = false, kernel = false, cpu = false;
  std::string why; ///< the first refusal
};

bool opens(Domain domain, const GroupOptions& options, std::string& why) {
  try {
    const Group group({"perf::TASK-CLOCK"}, domain, options);
    return true;
  } catch (const Error& e) {
    if (why.empty()) why = e.problem().cause;
    return false;
  }
}

Scope try_scope() {
  Scope s;
  s.user = opens(Domain::user, {}, s.why);
  s.kernel = opens(Domain::all, {}, s.why);
  s.cpu = opens(Domain::all, {.pid = -1, .cpu = 0}, s.why);
  return s;
}

std::string describe(const Scope& s) {
  if (s.cpu) return "everything: whole CPUs, the kernel, own processes";
  if (s.kernel) return "own processes in user and kernel mode, but not whole CPUs";
  if (s.user) return "own processes in user mode only (events end in :u)";
  return "nothing: " + s.why;
}

/// The same as the user nobody, in a child. None when that cannot be tried.
std::optional<Scope> try_scope_unprivileged() {
  const auto got = process::in_fork(
      [](int fd) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) return 1;
        const Scope s = try_scope();
        const std::string text = fmt::format("{:d}{:d}{:d}{}", s.user, s.kernel, s.cpu, s.why);
        return process::write_all(fd, text) ? 0 : 1;
      },
      10s);
  if (!got.exit.ok() || got.out.size() < 3) return {};
  return Scope{got.out[0] == '1', got.out[1] == '1', got.out[2] == '1', got.out.substr(3)};
}

Finding scope(const std::string& who, const Scope& s) {
  const std::string remedy =
      s.cpu ? ""
            : "sudo sysctl kernel.perf_event_paranoid=" + std::string(s.user ? (s.kernel ? "0" : "1") : "2");
  const State state = s.cpu ? State::works : s.user ? State::limited : State::missing;
  return {
      state, who,
      fmt::format("can count {} (tested; {})", describe(s), host::show_setting("kernel.perf_event_paranoid")),
      remedy};
}

Finding surroundings(const host::Permission& p) {
  const std::string filter = p.seccomp == 2 ? "a seccomp filter is active" : "no seccomp filter";
  if (p.container.empty()) return {State::note, "container", "none detected; " + filter, {}};
  return {State::note, "container", fmt::format("running in a {} container; {}", p.container, filter),
          p.seccomp == 2 ? "if perf_event_open(2) fails with EPERM: start it with --cap-add PERFMON "
                           "--security-opt seccomp=unconfined"
                         : ""};
}

Finding addresses() {
  const auto got = process::in_fork(
      [](int) {
        const int now = ::personality(0xffffffffU);
        return now >= 0 && ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0 ? 0 : 1;
      },
      5s);
  if (got.exit.ok())
    return {
        State::works, "fixed addresses", "address randomisation can be disabled for measured processes", {}};
  return {State::limited, "fixed addresses", "personality(2) is refused: addresses differ between runs",
          "start the container with --security-opt seccomp=unconfined"};
}
} // namespace

Area examine_permission() {
  const auto p = host::permission();
  Area area{"Permission", {}};
  area.findings.push_back(scope(p.root ? "root (you)" : "you", try_scope()));
  if (p.root) {
    if (const auto s = try_scope_unprivileged()) area.findings.push_back(scope("an unprivileged user", *s));
  }
  area.findings.push_back(surroundings(p));
  area.findings.push_back(addresses());
  return area;
}

} // namespace recount::doctor
