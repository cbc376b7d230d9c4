#include "stat/plan.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::stat {
namespace {

class ItemReader {
public:
  void take(std::string_view list) {
    list_ = list;
    bool within_terms = false;
    std::string name;
    for (const char c : list) {
      // mem:ADDRESS/LENGTH has a single slash, and no comma in it.
      if (c == '/' && !name.starts_with("mem:")) within_terms = !within_terms;
      if (within_terms || (c != ',' && c != '{' && c != '}')) {
        if (after_group_ && c != ' ') fail("a comma is expected after }");
        name += c;
        continue;
      }
      separator(c, name);
    }
    if (within_terms) fail("a / is not closed: PMU/terms/");
    if (in_group_) fail("a { without a matching }");
    finish(name, after_group_ || list.find_first_not_of(' ') == list.npos);
    after_group_ = false;
  }
  std::vector<Item> items;

private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input("-e " + std::string(list_), cause,
                    "-e a,b,'{c,d}': names with commas between, groups in braces");
  }
  void separator(char c, std::string& name) {
    if (c == '{') {
      if (in_group_) fail("a { within a {");
      if (after_group_ || !name.empty()) fail("a comma is expected before {");
      in_group_ = true;
      return;
    }
    finish(name, after_group_ && c == ',');
    after_group_ = false;
    if (c == ',') return;
    if (!in_group_) fail("a } without a matching {");
    in_group_ = false;
    after_group_ = true;
    ++groups_;
  }
  void finish(std::string& name, bool may_be_empty) {
    const auto first = name.find_first_not_of(' ');
    const std::string bare =
        first == name.npos ? "" : name.substr(first, name.find_last_not_of(' ') - first + 1);
    name.clear();
    if (bare.empty() && may_be_empty) return;
    if (bare.empty()) fail("a name is missing");
    if (std::ranges::find(items, bare, &Item::name) == items.end())
      items.push_back({bare, in_group_ ? std::optional(groups_) : std::nullopt});
  }

  std::string_view list_;
  std::size_t groups_ = 0;
  bool in_group_ = false, after_group_ = false;
};

} // namespace

std::vector<Item> parse_items(const std::vector<std::string>& lists) {
  ItemReader reader;
  for (const std::string& list : lists)
    reader.take(list);
  return std::move(reader.items);
}

} // namespace recount::stat
