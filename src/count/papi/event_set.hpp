// One PAPI event set, owned.
#pragma once

#include <recount/error.hpp>
#include <recount/event.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace recount::papi {

/// "PAPI_ENOEVNT (-7): Event does not exist". The name comes from papi.h, the text from PAPI.
[[nodiscard]] std::string describe(int code);

/// What a failed call means for the user: cause from describe(), kind and fix from a table of codes.
/// `subject` is the event or set concerned, `call` PAPI's function.
[[nodiscard]] Error error(std::string subject, const std::string& call, int code);

/// Throws error() unless the code is PAPI_OK.
void check(int code, const std::string& subject, const char* call);

/// An event set of PAPI, destroyed with the object. PAPI must be initialised and the thread registered.
/// No guard against tables that crash PAPI: that is PapiSet's.
class EventSet {
public:
  /// `process`: counts that one and, with `inherit`, what it starts; 0: this thread.
  EventSet(const std::vector<std::string>& names, Domain domain, pid_t process = 0, bool inherit = true);
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  ~EventSet();

  void start();
  void stop(long long* values);
  void read(long long* values);
  void accumulate(long long* values);
  void reset();
  [[nodiscard]] int id() const noexcept { return id_; } ///< PAPI's handle
  [[nodiscard]] bool running() const noexcept { return running_; }
  [[nodiscard]] bool counted() const noexcept { return counted_; }

private:
  void attach(pid_t process, bool inherit);
  void add(const std::vector<std::string>& names, Domain domain);
  void check(int code, const char* call) const;
  [[nodiscard]] bool valid() const noexcept;
  /// Throws Error (unavailable) unless valid(): the handle may be that of another set by now.
  void require_valid() const;
  int id_;
  unsigned start_; ///< of PAPI, when it was created
  bool running_ = false, counted_ = false;
  std::string subject_; ///< the names, for messages
};

/// Starts, reads and stops a set of its own on this thread. What PAPI says when it does not count; empty when
/// it does. A crash is the caller's to survive.
[[nodiscard]] Reason try_once(const std::vector<std::string>& names, Domain domain) noexcept;

// From an event's name to PAPI's code for it, and what to say when there is none.

/// PAPI's code of an event, and the component that counts it.
struct Resolved {
  int code = 0;
  int component = 0;
};

/// The PMUs of this kernel, for a message.
[[nodiscard]] std::string pmus_here();

/// The component of the core PMU and of software events, "perf_event".
[[nodiscard]] int cpu_component();
[[nodiscard]] std::string component_name(int component);

/// Resolves a preset or native name; native ones of the core component with the domain written out. Throws
/// Error: bad_input for unknown names, with the nearest ones; unavailable for what this machine lacks.
[[nodiscard]] Resolved resolve(const std::string& name, Domain domain);

/// The Error when PAPI_add_event returned `code`; `others` are the events already in the set.
[[nodiscard]] Error refused(const std::string& name, int code, const std::vector<std::string>& others);

/// Every preset name PAPI has, whether or not it is defined here.
[[nodiscard]] std::vector<std::string> preset_names();

// The domain qualifiers of native event names, in the one form that PAPI honours.

/// A native name taken apart: "perf::PAGE-FAULTS:u" is "perf::PAGE-FAULTS" and user.
struct Qualified {
  std::string name;             ///< without u and k
  std::optional<Domain> domain; ///< none: the name has no qualifiers
};

/// Takes :u, :k, :uk, :u=0, :k=1 and their like off a name; other attributes stay. Error (bad_input) when
/// they leave nothing to count. Pure.
[[nodiscard]] Qualified split_domain(const std::string& name);

/// The name with both qualifiers written out, ":u=1:k=0". PAPI's perf_event component looks for the texts
/// ":u=" and ":k=" and lets the set's domain overrule whichever is missing, so only both together are exact.
[[nodiscard]] std::string join_domain(const std::string& name, Domain domain);

} // namespace recount::papi
