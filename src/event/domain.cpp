#include "event/domain.hpp"

#include "base/text.hpp"

namespace recount {

Domain domain(const Event& event) noexcept {
  if (event.attr.exclude_kernel) return Domain::user;
  return event.attr.exclude_user ? Domain::kernel : Domain::all;
}

} // namespace recount

namespace recount::event {

std::optional<Domain> parse_domain(std::string_view letters) {
  if (letters == "u") return Domain::user;
  if (letters == "k") return Domain::kernel;
  if (letters == "uk" || letters == "ku") return Domain::all;
  return {};
}

Split split_domain(std::string_view name) {
  const auto colon = name.rfind(':');
  if (colon == std::string_view::npos) return {name, {}};
  const auto domain = parse_domain(name.substr(colon + 1));
  return {domain ? name.substr(0, colon) : name, domain};
}

void apply(Domain domain, perf_event_attr& attr) {
  attr.exclude_user = domain == Domain::kernel;
  attr.exclude_kernel = domain == Domain::user;
  attr.exclude_hv = domain != Domain::all;
}

Modified for_libpfm(std::string_view name) {
  Modified out;
  const auto prefix = name.find("::");
  const auto start = prefix == std::string_view::npos ? 0 : prefix + 2;
  out.name = name.substr(0, start);
  bool first = true;
  for (std::string_view part : base::split(name.substr(start), ':')) {
    if (!first) out.name += ':';
    const auto key = part.substr(0, part.find('='));
    const bool letters = !first && (parse_domain(key) || key == "h");
    out.domain_given = out.domain_given || letters;
    if (letters && part.size() == 2)
      out.name.append(part.substr(0, 1)).append(":").append(part.substr(1));
    else
      out.name += part;
    first = false;
  }
  return out;
}

} // namespace recount::event
