// What the functions of the C interface share: no exception leaves them.
#pragma once

#include "perf/open_group.hpp"
#include "process/signals.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/recount.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace recount::perf {

/// The text of recount_error() of the calling thread.
std::string& c_error() noexcept;

/// 0; -1 with the message of what it throws.
template <class Body>
int guarded(const Body& body) noexcept {
  const process::CancelBlocked uncancelled;
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    try {
      c_error() = error.what();
    } catch (...) { // no memory for the message
      c_error().clear();
    }
    return -1;
  }
}

/// What `make` returns, given away; null with a message if it throws.
template <class Make>
auto made_or_null(const Make& make) noexcept {
  decltype(make()) object;
  static_cast<void>(guarded([&] { object = make(); }));
  return object.release();
}

/// What an argument points to.
template <class T>
T& require(T* argument, const char* name) {
  if (argument == nullptr) throw bad_input(name, "NULL", "pass a pointer to an object");
  return *argument;
}

/// The options given, and the members that older programs do not know as they are in RECOUNT_OPTIONS.
inline recount_options known_options(const recount_options* given) {
  recount_options options = RECOUNT_OPTIONS;
  if (given == nullptr) return options;
  constexpr unsigned known = 1023;
  if (given->size < offsetof(recount_options, flags) || given->size > sizeof options)
    throw bad_input("recount_options", "size is not that of this version: " + std::to_string(given->size),
                    "initialise it with RECOUNT_OPTIONS");
  std::memcpy(&options, given, given->size);
  if ((options.flags & ~known) != 0 || static_cast<unsigned>(options.domain) > RECOUNT_KERNEL)
    throw bad_input("recount_options", "an unknown flag or domain", "initialise it with RECOUNT_OPTIONS");
  return options;
}

inline Domain domain_of(const recount_options& options) {
  return options.domain == RECOUNT_USER     ? Domain::user
         : options.domain == RECOUNT_KERNEL ? Domain::kernel
                                            : Domain::all;
}

} // namespace recount::perf
