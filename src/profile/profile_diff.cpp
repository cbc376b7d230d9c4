#include "profile/profile_report.hpp"

#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace recount::profile {
namespace {

/// What identifies a row in both profiles: addresses change with each build, unless nothing else is known.
using RowKey = std::tuple<std::string, std::string, std::string, int, std::uint64_t>;

RowKey row_key(const ProfileRow& row, By by) {
  const bool by_address = by == By::address || (row.function.empty() && row.line == 0);
  return {row.module, row.function, row.file, row.line, by_address ? row.address : 0};
}

struct RowPair {
  ProfileRow row;
  std::vector<Tally> before, after;
};

double difference(const ShareChange& change) {
  return change.after.value - change.before.value;
}

Share share_in(const Profile& p, const std::vector<Tally>& tallies, std::size_t event) {
  return share_of(p, tallies.empty() ? Tally{} : tallies[event], event);
}

} // namespace

std::vector<ShareChange> compare_shares(const Profile& before, std::size_t event_before, const Profile& after,
                                        std::size_t event_after, By by) {
  std::map<RowKey, RowPair> pairs;
  for (const auto& [profile, tallies] :
       {std::pair(&before, &RowPair::before), std::pair(&after, &RowPair::after)})
    for (ProfileRow& row : group_places(profile->recording.places, profile->naming, by)) {
      RowPair& pair = pairs[row_key(row, by)];
      add(pair.*tallies, row.tallies);
      pair.row = std::move(row);
    }
  std::vector<ShareChange> changes;
  for (auto& [key, pair] : pairs) {
    pair.row.tallies.clear();
    changes.push_back({std::move(pair.row), share_in(before, pair.before, event_before),
                       share_in(after, pair.after, event_after)});
  }
  std::ranges::stable_sort(changes, [](const ShareChange& a, const ShareChange& b) {
    return std::pair(b.differs(), std::abs(difference(b))) < std::pair(a.differs(), std::abs(difference(a)));
  });
  return changes;
}

std::vector<std::pair<std::size_t, std::size_t>> common_events(const Profile& before, const Profile& after) {
  std::vector<std::pair<std::size_t, std::size_t>> common;
  const auto& earlier = before.recording.events;
  for (std::size_t e = 0; e < after.recording.events.size(); ++e) {
    const std::string& name = after.recording.events[e].event.name;
    const auto at =
        std::ranges::find_if(earlier, [&](const SampledEvent& event) { return event.event.name == name; });
    if (at != earlier.end()) common.emplace_back(static_cast<std::size_t>(at - earlier.begin()), e);
  }
  return common;
}

command::Table diff_table(const std::vector<ShareChange>& changes, const std::string& event, By by,
                          std::size_t top) {
  using enum command::Table::Align;
  std::vector<command::Table::Column> columns{{"before", right}, {"after", right}, {"change", right}};
  for (const NameField& field : name_fields({}, by))
    columns.push_back(field.column);
  command::Table table(columns, fmt::format("{} by {}", event, name_of(by)));
  for (std::size_t i = 0; i < std::min(top, changes.size()); ++i) {
    const ShareChange& change = changes[i];
    std::vector<std::string> line{share_text(change.before), share_text(change.after),
                                  change.differs() ? fmt::format("{:+.3g}", 100 * difference(change))
                                                   : "none shown"};
    std::vector<std::string> narrow(line.size());
    add_names(change.row, by, line, narrow);
    table.add(std::move(line), std::move(narrow));
    document::Datum datum{.keys = name_keys(change.row, by), .quantity = event};
    table.add_data({datum.with("share before", change.before.value, change.before.low, change.before.high),
                    datum.with("share after", change.after.value, change.after.low, change.after.high)});
    datum.reason = change.differs() ? "" : "the 95 % intervals overlap";
    table.add_data({datum.with("change of the share", difference(change))});
  }
  return table;
}

namespace {

Json share_json(const Share& share) {
  return {{"share", share.value}, {"low", share.low}, {"high", share.high}};
}

Json change_json(const ShareChange& change) {
  Json json{{"module", change.row.module},
            {"function", or_null(change.row.function)},
            {"file", or_null(change.row.file)},
            {"line", change.row.line > 0 ? Json(change.row.line) : Json()}};
  if (change.row.address != 0) json["address"] = change.row.address;
  json.update({{"before", share_json(change.before)},
               {"after", share_json(change.after)},
               {"differs", change.differs()}});
  return json;
}

} // namespace

std::string diff_json(const Profile& before, const Profile& after,
                      const std::vector<std::pair<std::size_t, std::size_t>>& common,
                      const std::vector<By>& by) {
  Json json{{"before", before.subject}, {"after", after.subject}, {"events", Json::array()}};
  for (const auto& [first, second] : common) {
    Json event{{"name", after.recording.events[second].event.name}};
    for (const By way : by)
      event["by_" + name_of(way)] =
          make_array(compare_shares(before, first, after, second, way), change_json);
    json["events"].push_back(std::move(event));
  }
  return json_text("profile-diff", json);
}

} // namespace recount::profile
