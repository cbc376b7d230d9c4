#include "papi/qualifier.hpp"

#include <recount/error.hpp>

#include <array>
#include <string_view>

namespace recount::papi {
namespace {

struct Bits {
  std::optional<bool> user, kernel;
};

/// Whether the attribute is about domains; notes what it says.
bool take(std::string_view attribute, Bits& bits) {
  if (attribute == "uk" || attribute == "ku") {
    bits.user = bits.kernel = true;
    return true;
  }
  if (attribute.empty() || (attribute[0] != 'u' && attribute[0] != 'k')) return false;
  const std::string_view rest = attribute.substr(1);
  const bool on = rest.empty() || rest == "=1" || rest == "=y" || rest == "=t";
  if (!on && rest != "=0" && rest != "=n" && rest != "=f") return false;
  (attribute[0] == 'u' ? bits.user : bits.kernel) = on;
  return true;
}

} // namespace

Qualified split_domain(const std::string& name) {
  // Attributes follow the event; the colons of "component:::" and "pmu::" come before it.
  const std::size_t pmu = name.rfind("::");
  const std::size_t event = pmu == std::string::npos ? 0 : pmu + 2;
  std::size_t at = name.find(':', event);
  Qualified out{name.substr(0, at), {}};
  Bits bits;
  while (at != std::string::npos) {
    const std::size_t next = name.find(':', at + 1);
    const std::string attribute = name.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    if (!take(attribute, bits)) out.name += ":" + attribute;
    at = next;
  }
  if (!bits.user && !bits.kernel) return out;
  // As libpfm4: a domain that is not named is not counted once the other one is.
  const bool user = bits.user.value_or(false), kernel = bits.kernel.value_or(false);
  if (!user && !kernel)
    throw bad_input(name, "its qualifiers leave no domain to count in", "use :u, :k or both");
  out.domain = user && kernel ? Domain::all : user ? Domain::user : Domain::kernel;
  return out;
}

std::string join_domain(const std::string& name, Domain domain) {
  return name + (domain == Domain::kernel ? ":u=0" : ":u=1") + (domain == Domain::user ? ":k=0" : ":k=1");
}

} // namespace recount::papi
