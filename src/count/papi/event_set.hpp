// One PAPI event set, owned.
#pragma once

#include <recount/error.hpp>
#include <recount/event.hpp>

#include <sys/types.h>

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

} // namespace recount::papi
