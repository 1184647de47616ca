#include "process.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "pinfold/checkpoint/store.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::world {
namespace {

tl::unexpected<Error> is_dead() { return fail(ErrorCode::kIo, "the process has ended"); }

/// Does an operation on the disk, unless the process is dead or a fault drops the operation.
template <class Act>
auto change_disk(Process& process, const std::string& text, const Act& act) -> decltype(act()) {
  if (process.is_dead) return is_dead();
  const Operation operation{true, text, ""};
  process.disk_error = process.before(operation);
  if (process.is_dead) return is_dead();
  auto done = act();
  process.after(operation);
  return done;
}

/// Reads from the disk or the kernel, unless the process is dead or a fault strikes.
template <class Read>
auto read_from(Process& process, const std::string& name, const Read& read) -> decltype(read()) {
  if (process.is_dead) return is_dead();
  const int error = process.before_reading();
  if (error != 0) return fail_errno(error, "read '" + name + "'");
  return read();
}

class ProcessFile final : public checkpoint::File {
 public:
  ProcessFile(std::shared_ptr<Process> process, std::unique_ptr<checkpoint::File> file,
              std::string name)
      : process_(std::move(process)), file_(std::move(file)), name_(std::move(name)) {}

  Result<std::size_t> write(std::string_view bytes) override {
    return change_disk(*process_, "write " + name_, [&]() -> Result<std::size_t> {
      const bool is_journal = name_ == checkpoint::kJournalFileName;
      if (process_->bug == Bug::kNoJournal && is_journal) return bytes.size();
      return file_->write(bytes);
    });
  }
  Result<void> reserve(std::size_t size) override {
    return change_disk(*process_, "reserve " + name_, [&] { return file_->reserve(size); });
  }
  Result<void> sync() override {
    return change_disk(*process_, "sync " + name_, [&]() -> Result<void> {
      if (process_->bug == Bug::kNoFileSync) return {};
      return file_->sync();
    });
  }

 private:
  std::shared_ptr<Process> process_;
  std::unique_ptr<checkpoint::File> file_;
  std::string name_;
};

class ProcessFs final : public checkpoint::Fs {
 public:
  ProcessFs(std::shared_ptr<Process> process, std::unique_ptr<checkpoint::Fs> fs)
      : process_(std::move(process)), fs_(std::move(fs)) {}

  Result<std::optional<std::string>> read(const std::string& name) override {
    return read_from(*process_, name, [&] { return fs_->read(name); });
  }
  Result<std::vector<std::string>> list() override {
    return read_from(*process_, "the directory", [&] { return fs_->list(); });
  }
  Result<std::unique_ptr<checkpoint::File>> create(const std::string& name) override {
    has_new_journal_ = has_new_journal_ || name == checkpoint::kJournalFileName;
    return change_disk(*process_, "create " + name,
                       [&]() -> Result<std::unique_ptr<checkpoint::File>> {
                         PINFOLD_LET(auto file, fs_->create(name));
                         return std::make_unique<ProcessFile>(process_, std::move(file), name);
                       });
  }
  Result<std::unique_ptr<checkpoint::File>> reopen(const std::string& name,
                                                   std::size_t size) override {
    return change_disk(*process_, "reopen " + name,
                       [&]() -> Result<std::unique_ptr<checkpoint::File>> {
                         PINFOLD_LET(auto file, fs_->reopen(name, size));
                         return std::make_unique<ProcessFile>(process_, std::move(file), name);
                       });
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return change_disk(*process_, "rename to " + to, [&] { return fs_->rename(from, to); });
  }
  Result<void> remove(const std::string& name) override {
    return change_disk(*process_, "remove " + name, [&]() -> Result<void> {
      const bool is_journal = name == checkpoint::kJournalFileName;
      if (process_->bug == Bug::kOldJournal && is_journal) return {};
      if (process_->bug == Bug::kReplayedJournal && is_journal) return bring_back(name);
      if (process_->bug == Bug::kEarlyLock && process_->is_leaving) {
        process_->late.emplace_back([fs = fs_, name] { (void)fs->remove(name); });
        return {};
      }
      return fs_->remove(name);
    });
  }
  Result<void> sync_directory() override {
    return change_disk(*process_, "sync directory", [&]() -> Result<void> {
      const bool is_of_journal = std::exchange(has_new_journal_, false);
      if (process_->bug == Bug::kNoDirectorySync && is_of_journal) return {};
      return fs_->sync_directory();
    });
  }

 private:
  /// Removes the journal, and brings back the one that was removed before it.
  Result<void> bring_back(const std::string& journal) {
    PINFOLD_LET(const auto bytes, fs_->read(journal));
    PINFOLD_TRY(fs_->remove(journal));
    const std::string former = std::exchange(*process_->settled_journal, bytes.value_or(""));
    if (former.empty()) return {};
    PINFOLD_LET(const auto file, fs_->create(journal));
    PINFOLD_TRY(file->write(former));
    PINFOLD_TRY(file->sync());
    return fs_->sync_directory();
  }

  std::shared_ptr<Process> process_;
  std::shared_ptr<checkpoint::Fs> fs_;
  bool has_new_journal_ = false;  ///< since the last sync of the directory
};

class ProcessCgroupFs final : public enforce::CgroupFs {
 public:
  ProcessCgroupFs(std::shared_ptr<Process> process, std::unique_ptr<enforce::CgroupFs> fs,
                  std::string below)
      : process_(std::move(process)), fs_(std::move(fs)), below_(std::move(below)) {}

  Result<void> make_group(const std::string& group) override {
    return change({false, "make " + at(group), at(group)}, [&] { return fs_->make_group(group); });
  }
  Result<void> remove_group(const std::string& group) override {
    return change({false, "remove " + at(group), at(group)},
                  [&] { return fs_->remove_group(group); });
  }
  Result<std::vector<std::string>> children(const std::string& group) override {
    return read_from(*process_, group, [&] { return fs_->children(group); });
  }
  Result<std::string> read(const std::string& group, const std::string& file) override {
    return read_from(*process_, at(group) + " " + file, [&] {
      return process_->bug == Bug::kNone ? fs_->read(group, file) : read_wrongly(group, file);
    });
  }
  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    const bool is_cpuset = file.starts_with("cpuset.");
    if (process_->bug == Bug::kEmptyIsNoChange && is_cpuset && value.empty()) return {};
    const bool is_container = group.find('/') != std::string::npos;
    if (process_->bug == Bug::kGrantFirst && file == "cpuset.cpus" && is_container) {
      return write_late(group, std::string(value));
    }
    if (process_->bug == Bug::kOldValues) process_->known_values[at(group) + " " + file] = value;
    return write_now(group, file, value);
  }

 private:
  Result<void> write_now(const std::string& group, const std::string& file,
                         std::string_view value) {
    return change({false, fmt::format("write {} {} {}", at(group), file, value), at(group), file},
                  [&] { return fs_->write(group, file, value); });
  }

  Result<std::string> read_wrongly(const std::string& group, const std::string& file) {
    const auto& held = process_->held;
    if (held && held->group == at(group) && file.starts_with("cpuset.cpus")) return held->value;
    if (process_->bug == Bug::kNoProcesses && file == "cgroup.procs") return std::string();
    if (process_->bug != Bug::kOldValues || file == "cgroup.procs") return fs_->read(group, file);
    const std::string key = at(group) + " " + file;
    const auto known = process_->known_values.find(key);
    if (known != process_->known_values.end()) return known->second;
    auto value = fs_->read(group, file);
    if (value) process_->known_values[key] = *value;
    return value;
  }

  /// Delays writing a set that becomes smaller until after the next write.
  Result<void> write_late(const std::string& group, const std::string& value) {
    const auto before = CpuSet::parse(fs_->read(group, "cpuset.cpus").value_or(""));
    const auto after = CpuSet::parse(value);
    const bool is_smaller = before && after && *before != *after && before->contains_all(*after);
    if (is_smaller && !process_->held) {
      process_->held = {at(group), value,
                        [this, group, value] { (void)write_now(group, "cpuset.cpus", value); }};
      return {};
    }
    auto written = write_now(group, "cpuset.cpus", value);
    if (auto held = std::exchange(process_->held, std::nullopt)) held->write();
    return written;
  }

  [[nodiscard]] std::string at(const std::string& group) const {
    return group.empty() || below_.empty() ? below_ + group : below_ + "/" + group;
  }
  template <class Act>
  Result<void> change(const Operation& operation, const Act& act) {
    if (process_->is_dead) return is_dead();
    if (const int error = process_->before(operation); error != 0) {
      return fail_errno(error, operation.text);
    }
    if (process_->is_dead) return is_dead();
    auto done = act();
    if (done) process_->after(operation);
    return done;
  }

  std::shared_ptr<Process> process_;
  std::unique_ptr<enforce::CgroupFs> fs_;
  std::string below_;
};

class ProcessKnobs final : public quiet::KnobStore {
 public:
  ProcessKnobs(std::shared_ptr<Process> process, test::KnobWorld& world)
      : process_(std::move(process)), knobs_(world) {}

  Result<void> read(quiet::KnobKind kind, quiet::KnobValues& values) const override {
    return read_from(*process_, std::string(to_string(kind)),
                     [&] { return knobs_.read(kind, values); });
  }
  Result<std::string> read_one(const quiet::Knob& knob) const override {
    return read_from(*process_, to_string(knob), [&] { return knobs_.read_one(knob); });
  }
  Result<void> write(const quiet::Knob& knob, const std::string& value) override {
    if (process_->is_dead) return is_dead();
    const Operation operation{false, fmt::format("write {} {}", to_string(knob), value), "",
                              "knob"};
    if (const int error = process_->before(operation); error != 0) {
      return fail_errno(error, operation.text);
    }
    if (process_->is_dead) return is_dead();
    return knobs_.write(knob, value);
  }

 private:
  std::shared_ptr<Process> process_;
  test::FakeKnobs knobs_;
};

}  // namespace

std::unique_ptr<checkpoint::Fs> fs_of(std::shared_ptr<Process> process,
                                      std::unique_ptr<checkpoint::Fs> fs) {
  return std::make_unique<ProcessFs>(std::move(process), std::move(fs));
}

std::unique_ptr<enforce::CgroupFs> fs_of(std::shared_ptr<Process> process,
                                         std::unique_ptr<enforce::CgroupFs> fs, std::string below) {
  return std::make_unique<ProcessCgroupFs>(std::move(process), std::move(fs), std::move(below));
}

std::unique_ptr<quiet::KnobStore> knobs_of(std::shared_ptr<Process> process,
                                           test::KnobWorld& world) {
  return std::make_unique<ProcessKnobs>(std::move(process), world);
}

}  // namespace pinfold::world
