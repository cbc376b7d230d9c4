// The nearest names to an unknown one.
#include "base/nearest.hpp"
#include "event/encode.hpp"
#include "event/pfm.hpp"

#include <algorithm>
#include <strings.h>

namespace recount::event {
namespace {

struct Parts {
  std::string table, event, rest; ///< "skl", "L1D", "REPLACMENT:u"
};

Parts parts(const std::string& name) {
  Parts out;
  const auto prefix = name.find("::");
  const auto start = prefix == std::string::npos ? 0 : prefix + 2;
  if (prefix != std::string::npos) out.table = name.substr(0, prefix);
  const auto colon = name.find(':', start);
  out.event = name.substr(start, colon - start);
  if (colon != std::string::npos) out.rest = name.substr(colon + 1);
  return out;
}

bool same(const std::string& a, const std::string& b) {
  return strcasecmp(a.c_str(), b.c_str()) == 0;
}

/// Names of the unit masks and modifiers near the first one that the event does not have.
std::vector<std::string> near_attributes(const std::string& stem, const pfm::Entry& entry,
                                         const std::string& rest) {
  const auto known = pfm::attributes(entry);
  std::vector<std::string> names;
  for (const pfm::Attribute& attribute : known)
    names.push_back(attribute.name);
  std::string done = stem;
  for (std::size_t at = 0; at <= rest.size();) {
    const auto end = std::min(rest.find(':', at), rest.size());
    const std::string part = rest.substr(at, end - at);
    const std::string key = part.substr(0, part.find('='));
    if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return same(name, key); })) {
      auto found = base::nearest(key, names);
      if (found.empty()) // no near match: all, unit masks first as libpfm4 lists them
        found.assign(names.begin(),
                     names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(4, names.size())));
      for (std::string& name : found)
        name = done + ":" + name;
      return found;
    }
    done += ":" + part;
    at = end + 1;
  }
  return {};
}

/// What is meant by an event or something near it, in a table.
std::vector<std::string> in_table(const pfm::Table& table, const std::string& event,
                                  const std::vector<host::Pmu>& pmus) {
  const std::string name = table.name + "::" + event;
  if (pfm::encode(name, Domain::user).ok) return {name};
  return suggestions(name, pmus);
}

} // namespace

std::vector<std::string> suggestions(const std::string& name, const std::vector<host::Pmu>& pmus) {
  const Parts wanted = parts(name);
  if (wanted.table.empty() && !wanted.rest.empty()) // one colon after a table: "perf:PAGE-FAULTS"
    for (const pfm::Table& table : pfm::tables())
      if (same(table.name, wanted.event)) return in_table(table, wanted.rest, pmus);
  std::vector<pfm::Table> tables;
  std::vector<std::string> table_names;
  for (const pfm::Table& table : pfm::tables()) {
    table_names.push_back(table.name);
    if (wanted.table.empty() ? table.present : same(table.name, wanted.table)) tables.push_back(table);
  }
  if (tables.empty()) { // the table itself is mistyped
    auto near = base::nearest(wanted.table, table_names);
    for (std::string& table : near)
      table += name.substr(wanted.table.size());
    return near;
  }
  std::vector<std::string> candidates;
  const std::string prefix = wanted.table.empty() ? "" : wanted.table + "::";
  for (const pfm::Table& table : tables) {
    for (const pfm::Entry& entry : pfm::entries(table)) {
      if (same(entry.name, wanted.event) && !wanted.rest.empty())
        return near_attributes(prefix + entry.name, entry, wanted.rest);
      candidates.push_back(entry.name);
    }
  }
  if (wanted.table.empty())
    for (const host::Pmu& pmu : pmus)
      for (const auto& [event, terms] : pmu.events)
        candidates.push_back(pmu.name + "/" + event + "/");
  auto near = base::nearest(wanted.event, candidates);
  for (std::string& candidate : near)
    if (candidate.find('/') == std::string::npos) candidate = prefix + candidate;
  return near;
}

} // namespace recount::event
