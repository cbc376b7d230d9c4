#include "verdict/store.hpp"

#include "base/characters.hpp"
#include "base/json.hpp"

#include <recount/error.hpp>

#include <array>
#include <utility>

namespace recount::verdict {
namespace {

constexpr const char* schema = "recount-verdicts/1";
constexpr std::size_t longest = 300, most_entries = 5000;

constexpr std::array machine_fields{
    std::pair("cpu", &Machine::cpu),       std::pair("microcode", &Machine::microcode),
    std::pair("kernel", &Machine::kernel), std::pair("hypervisor", &Machine::hypervisor),
    std::pair("papi", &Machine::papi),     std::pair("table", &Machine::table)};
constexpr std::array entry_fields{std::pair("name", &Entry::name), std::pair("verdict", &Entry::verdict),
                                  std::pair("mark", &Entry::mark), std::pair("encoding", &Entry::encoding)};

/// nlohmann::json, not Json, whose keys are searched one by one: an object can have any number of them.
using Parsed = nlohmann::json;

class Reader {
public:
  explicit Reader(const std::string& where) : where_(where) {}

  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input(where_, "is damaged: " + cause, "remove it, and run recount check again");
  }

  const Parsed& list(const Parsed& object, const char* key, std::size_t most) const {
    if (!object.is_object()) fail("an object is expected");
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array() || found->size() > most)
      fail(std::string("\"") + key + "\" is not a list of at most " + std::to_string(most) + " elements");
    return *found;
  }

  template <class Object, class Fields>
  void texts(const Parsed& from, const Fields& fields, Object& into) const {
    if (!from.is_object()) fail("an object is expected");
    for (const auto& [key, member] : fields) {
      const auto found = from.find(key);
      if (found == from.end()) continue;
      if (!found->is_string() || found->template get_ref<const std::string&>().size() > longest)
        fail(std::string("\"") + key + "\" is not a text of at most " + std::to_string(longest) + " bytes");
      into.*member = base::printable(found->template get_ref<const std::string&>());
    }
  }

  Entry entry(const Parsed& from) const {
    Entry made;
    texts(from, entry_fields, made);
    if (made.name.empty()) fail("\"name\" is missing");
    if (const auto time = from.find("checked"); time != from.end()) {
      if (!time->is_number_integer()) fail("\"checked\" is not a whole number");
      made.checked = time->get<std::int64_t>();
    }
    return made;
  }

private:
  const std::string& where_;
};

} // namespace

std::string to_text(const Records& records) {
  Json all{{"schema", schema}, {"machines", Json::array()}};
  for (const Record& record : records) {
    Json machine = Json::object();
    for (const auto& [key, member] : machine_fields)
      machine[key] = record.machine.*member;
    Json& entries = machine["verdicts"] = Json::array();
    for (const Entry& entry : record.entries) {
      Json one = Json::object();
      for (const auto& [key, member] : entry_fields)
        if (const std::string& text = entry.*member; !text.empty()) one[key] = text;
      one["checked"] = entry.checked;
      entries.push_back(std::move(one));
    }
    all["machines"].push_back(std::move(machine));
  }
  return dumped(all, 1) + '\n';
}

Records parse(std::string_view text, const std::string& where) {
  const Reader reader(where);
  const Parsed all = Parsed::parse(text, nullptr, false);
  if (all.is_discarded() || !all.is_object()) reader.fail("it is not a JSON object");
  if (const auto stated = all.find("schema"); stated == all.end() || *stated != schema)
    reader.fail(std::string("the schema is not ") + schema);
  Records records;
  for (const Parsed& machine : reader.list(all, "machines", 1000)) {
    Record& record = records.emplace_back();
    reader.texts(machine, machine_fields, record.machine);
    for (const Parsed& entry : reader.list(machine, "verdicts", most_entries))
      record.entries.push_back(reader.entry(entry));
  }
  return records;
}

} // namespace recount::verdict
