#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "node.hpp"

/// What is measured under load. Each function prints what it measures, and throws Failure if the
/// service does not answer as it should.
namespace pinfold::load {

struct LoadOptions {
  std::string programs;   ///< the directory of pinfold and pinfold-serve
  std::string directory;  ///< of the files of the nodes
  bool enforces = false;
  std::string metrics_address = "127.0.0.1:0";
  int interval_s = 10;
  int rounds = 100;     ///< of latency and clients
  int active = 250;     ///< of latency, the most pods that are active
  int pods = 1000;      ///< of churn
  int at_once = 60;     ///< the most pods of churn and memory that are active
  int rate = 0;         ///< pods per second of churn and memory; 0: as many as possible
  int duration_s = 60;  ///< of memory
  int every_s = 2;      ///< a sample of memory
  int limit_mib = 64;
  std::string svg;  ///< "": no picture
  int seed = 1;

  /// `name`: of its directory and its groups. `is_enforced`: also means that its machine is this
  /// one; without enforcement it is too, if others are enforced, so that they can be compared.
  [[nodiscard]] LoadedNode node(const std::string& name, bool is_enforced) const;
};

/// CPUs of a node that containers can have exclusively: all but CPU 0.
[[nodiscard]] int exclusive_cpus(const LoadedNode& node);

/// Compares what clients have counted with what the service has. Thread-safe.
class Tally {
 public:
  /// From now on.
  explicit Tally(const ServiceProcess& service) : service_(service), before_(service.metrics()) {}

  void count_admission(bool is_admitted) { ++(is_admitted ? admitted_ : rejected_); }
  void count_removal() { ++removed_; }
  [[nodiscard]] std::uint64_t admitted() const { return admitted_; }
  /// Prints the counts. Throws Failure unless all admitted pods are removed and the service has
  /// counted the same, without a request that it refused.
  void check() const;

 private:
  const ServiceProcess& service_;
  std::map<std::string, double> before_;
  std::atomic<std::uint64_t> admitted_{0};
  std::atomic<std::uint64_t> rejected_{0};
  std::atomic<std::uint64_t> removed_{0};
};

inline constexpr const char* kTransactions = "pinfold_admission_transactions_total";

/// One admission with 0, 60 and 250 active pods (up to `active`), by the way to ask for it.
void measure_latency(const LoadOptions& options);
/// Admissions of 8 clients at once, and of one.
void measure_clients(const LoadOptions& options);
/// Pods that are admitted, started and removed.
void measure_churn(const LoadOptions& options);
/// The memory of the service while pods come and go.
/// Throws Failure if it is above the limit or grows.
void measure_memory(const LoadOptions& options);

}  // namespace pinfold::load
