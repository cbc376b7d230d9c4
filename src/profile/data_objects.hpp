// The data that a simulated program misses on: variables, heap blocks by the site of their allocation,
// stacks, files.
#pragma once

#include "profile/places.hpp"
#include "trace/memory_map.hpp"
#include "trace/reader.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace recount::profile {

/// Of all processes of a run; [0] is unknown memory. At most a million: others are unknown memory.
class DataObjects {
public:
  DataObjects() : all_(1) {}
  /// The number of an object that is equal but for its counts.
  [[nodiscard]] std::uint32_t number(DataObject object);
  [[nodiscard]] const std::vector<DataObject>& all() const { return all_; }
  [[nodiscard]] DataObject& operator[](std::uint32_t number) { return all_[number]; }
  /// Directories with debug files, see symbol::open_module().
  void set_debug_path(const std::string& path) { debug_path_ = path; }
  /// A mapped file to look variables up in; null: it is no program.
  [[nodiscard]] symbol::Module* module(std::uint32_t file, Files& files, const Places& places);

private:
  using Key =
      std::tuple<DataObject::Kind, std::string, std::uint32_t, std::vector<std::uint32_t>, std::uint64_t>;
  std::vector<DataObject> all_;
  std::map<Key, std::uint32_t> known_;
  std::string debug_path_;
  std::map<std::uint32_t, std::unique_ptr<symbol::Module>> modules_;
};

/// The data of one process; copied by a fork.
class ProcessData {
public:
  /// These outlive it.
  ProcessData(DataObjects& objects, Places& places, Files& files, std::uint32_t pid)
      : objects_(&objects), places_(&places), files_(&files), pid_(pid) {}
  void set_pid(std::uint32_t pid) { pid_ = pid; }
  /// A mapping that `places` has received.
  void module(const trace::Module& module);
  /// As trace::MemoryMap::take().
  [[nodiscard]] bool memory(std::uint64_t kind, std::span<const std::uint64_t> words);
  /// The number of the object at an address; the access counts for it.
  [[nodiscard]] std::uint32_t access(std::uint64_t address);
  /// Bounds of the object of the last access(), if it is a variable or heap block.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> bounds() const;
  /// Sets the bytes of its rows.
  void set_row(std::uint64_t row) { (*objects_)[last_.number].row = row; }
  /// The block that the last memory() allocated; nothing: none.
  [[nodiscard]] const std::optional<trace::MemoryMap::Region>& last_block() const { return map_.made(); }

private:
  struct Extent {
    std::uint64_t start = 0, end = 0; ///< end 0: nothing
    std::uint32_t number = 0;
  };
  using Extents = std::map<std::uint64_t, Extent>; ///< by start
  struct Loaded {
    std::uint32_t file = 0;
    std::uint64_t start = 0;
    auto operator<=>(const Loaded&) const = default;
  };
  [[nodiscard]] static Extent extent_at(const Extents& all, std::uint64_t address);
  [[nodiscard]] Extent find(std::uint64_t address);
  [[nodiscard]] std::uint32_t allocated_by(DataObject::Kind kind, std::uint32_t site);
  void load_variables(const Loaded& module);

  DataObjects* objects_;
  Places* places_;
  Files* files_;
  std::uint32_t pid_;
  trace::MemoryMap map_;
  Extents variables_, modules_; ///< numbers: of objects; of files
  std::vector<Loaded> pending_; ///< modules whose variables were not looked up yet
  std::set<Loaded> loaded_;
  std::map<std::pair<DataObject::Kind, std::uint32_t>, std::uint32_t> sites_; ///< objects
  Extent last_;
  std::uint64_t last_changes_ = 0; ///< of map_, when last_ was found
};

/// As in results and JSON: "heap", "variable".
[[nodiscard]] std::string name_of(DataObject::Kind kind);

/// The objects with names, modules and names of calls; a heap block is named by as many calls, up to four, as
/// distinguish it from others.
[[nodiscard]] std::vector<DataObject> name_objects(const DataObjects& objects, const Places& places,
                                                   const Naming& naming);

} // namespace recount::profile
