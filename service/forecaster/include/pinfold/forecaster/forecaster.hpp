#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/forecast/memory_watch.hpp"
#include "pinfold/worker/worker.hpp"

namespace pinfold::forecaster {

struct ForecasterOptions {
  std::string cgroup_root;  ///< absolute directory of Pinfold's own groups; "": none
  agent::LogSink log;       ///< called by the forecaster's thread
  std::string root = {};    ///< the directory with sys/ and proc/; "" is this machine
  /// The time between two samples; an alarm needs five of them.
  std::chrono::milliseconds interval{5'000};
};

/// Samples the memory of the machine in its own thread until it is destroyed, and logs each alarm
/// when it begins and when it ends. The thread only reads files and snapshots of the worker.
class Forecaster {
 public:
  /// Borrows the worker, which must outlive it.
  Forecaster(ForecasterOptions options, const worker::Worker& worker);
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;
  /// Waits for a sample in progress.
  ~Forecaster();

  /// Returns the outlook after the last sample. Thread-safe.
  [[nodiscard]] forecast::MemoryOutlook outlook() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::forecaster
