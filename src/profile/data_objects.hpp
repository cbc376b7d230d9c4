// The data that a simulated program misses on: variables, heap blocks by the site of their allocation,
// stacks, files.
#pragma once

#include "profile/located.hpp"
#include "trace/memory_map.hpp"
#include "trace/reader.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace recount::profile {

struct DataObject {
  enum class Kind : std::uint8_t { unknown, block, mapped, stack, variable, file };
  Kind kind = Kind::unknown;
  std::string name;                 ///< of a variable, or a path
  std::uint32_t file = 0;           ///< of a variable: which of Spaces::files()
  std::vector<std::uint32_t> calls; ///< of heap blocks and anonymous memory: places, the innermost call first
  std::uint64_t number = 0;         ///< thread of a stack; address in the file of a variable
  std::uint64_t bytes = 0;          ///< of the variable, or of all blocks; 0: not stated
  std::uint64_t blocks = 0;         ///< allocated by the site
  std::uint64_t row = 0;            ///< bytes of its rows, which trace::Padding found; 0: none
  std::uint64_t low = ~0ULL, high = 0; ///< offsets of the first and the last access that was attributed
};

/// Of all processes of a run; [0] is unknown memory. At most a million: others are unknown memory.
class DataObjects {
public:
  DataObjects() : all_(1) {}
  /// The number of an object that is equal but for its counts.
  [[nodiscard]] std::uint32_t number_of(DataObject object);
  [[nodiscard]] const std::vector<DataObject>& all() const { return all_; }
  /// Where else debug files are, see NamingOptions.
  void set_debug_path(const std::string& path) { debug_path_ = path; }
  /// A mapped file to look variables up in; null: it is no program. Once for each.
  [[nodiscard]] const symbol::Module* module(std::uint32_t file, Files& files, const Places& places);
  void count_block(std::uint32_t number, std::uint64_t bytes);
  void set_row(std::uint32_t number, std::uint64_t row) { all_[number].row = row; }
  void count_access(std::uint32_t number, std::uint64_t offset);

private:
  using Key =
      std::tuple<DataObject::Kind, std::string, std::uint32_t, std::vector<std::uint32_t>, std::uint64_t>;
  std::vector<DataObject> all_;
  std::map<Key, std::uint32_t> known_;
  std::string debug_path_;
  std::map<std::uint32_t, std::optional<symbol::Module>> modules_;
};

/// The data of one process; copied by a fork.
class ProcessData {
public:
  /// These outlive it.
  ProcessData(DataObjects& objects, Places& places, Files& files, std::uint32_t pid)
      : objects_(&objects), places_(&places), files_(&files), pid_(pid) {}
  void set_pid(std::uint32_t pid) { pid_ = pid; }
  /// A mapping that `places` has got.
  void module(const trace::Module& module);
  /// As trace::MemoryMap::take().
  [[nodiscard]] bool memory(std::uint64_t kind, std::span<const std::uint64_t> words);
  /// The number of the object at an address; the access counts for it.
  [[nodiscard]] std::uint32_t access(std::uint64_t address);
  /// Bounds of a variable or heap block that access() has just been told of.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> rows() const;
  /// Its rows have so many bytes.
  void set_row(std::uint64_t row) { objects_->set_row(last_.number, row); }
  /// Of the block that memory() has just made; nothing: it made none.
  [[nodiscard]] const std::optional<trace::MemoryMap::Region>& made() const { return map_.made(); }

private:
  struct Bound {
    std::uint64_t end = 0;
    std::uint32_t number = 0;
  };
  using Bounds = std::map<std::uint64_t, Bound>; ///< by start
  struct Loaded {
    std::uint32_t file = 0;
    std::uint64_t start = 0;
    auto operator<=>(const Loaded&) const = default;
  };
  struct Found {
    std::uint64_t start = 0, end = 0; ///< end 0: nothing
    std::uint32_t number = 0;
  };
  [[nodiscard]] static Found at(const Bounds& all, std::uint64_t address);
  [[nodiscard]] Found find(std::uint64_t address);
  [[nodiscard]] std::uint32_t object_of(DataObject::Kind kind, std::uint32_t site);
  void load(const Loaded& module);

  DataObjects* objects_;
  Places* places_;
  Files* files_;
  std::uint32_t pid_;
  trace::MemoryMap map_;
  Bounds variables_, modules_;  ///< numbers: of objects; of files
  std::vector<Loaded> pending_; ///< modules whose variables were not looked up yet
  std::set<Loaded> loaded_;
  std::map<std::pair<DataObject::Kind, std::uint32_t>, std::uint32_t> sites_; ///< objects
  Found last_;
  std::uint64_t last_changes_ = 0;
};

/// The names of the objects, in their order: of a heap block by as many calls, up to four, as tell it from
/// others.
[[nodiscard]] std::vector<NamedObject> name_objects(const DataObjects& objects, const Places& places,
                                                    const Naming& naming);

} // namespace recount::profile
