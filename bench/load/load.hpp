#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "node.hpp"

/// Measurements under load. Each function prints its results, and throws Failure if the service
/// gives a wrong answer.
namespace pinfold::load {

struct LoadOptions {
  std::string programs;   ///< the directory of pinfold and pinfold-serve
  std::string directory;  ///< for the files of the nodes
  bool enforces = false;
  std::string metrics_address = "127.0.0.1:0";
  int interval_s = 10;
  int rounds = 100;     ///< for latency and clients
  int active = 250;     ///< for latency: the largest number of active pods
  int pods = 1000;      ///< for churn
  int at_once = 60;     ///< for churn and memory: the largest number of active pods
  int rate = 0;         ///< for churn and memory: pods per second; 0: as many as possible
  int duration_s = 60;  ///< for memory
  int every_s = 2;      ///< for memory: the interval between samples
  int limit_mib = 64;
  std::string svg;  ///< empty: no picture
  int seed = 1;

  /// `name` names its directory and its groups. If any node is enforced, all nodes have the real
  /// machine, so that they can be compared.
  [[nodiscard]] LoadedNode node(const std::string& name, bool is_enforced) const;
};

/// Returns the CPUs of a node that containers can have exclusively: all but CPU 0.
[[nodiscard]] int exclusive_cpus(const LoadedNode& node);

/// Compares the clients' counts with the service's. Thread-safe.
class Tally {
 public:
  /// Starts counting now.
  explicit Tally(const ServiceProcess& service) : service_(service), before_(service.metrics()) {}

  void count_admission(bool is_admitted) { ++(is_admitted ? admitted_ : rejected_); }
  void count_removal() { ++removed_; }
  [[nodiscard]] std::uint64_t admitted() const { return admitted_; }
  /// Prints the counts. Throws Failure unless all admitted pods have been removed and the service
  /// has the same counts, without a rejected request.
  void check() const;

 private:
  const ServiceProcess& service_;
  std::map<std::string, double> before_;
  std::atomic<std::uint64_t> admitted_{0};
  std::atomic<std::uint64_t> rejected_{0};
  std::atomic<std::uint64_t> removed_{0};
};

inline constexpr const char* kTransactions = "pinfold_admission_transactions_total";

/// Measures one admission with 0, 60 and 250 active pods (up to `active`), for each way to request
/// it.
void measure_latency(const LoadOptions& options);
/// Measures admissions of 8 concurrent clients, and of one.
void measure_clients(const LoadOptions& options);
/// Measures pods that are admitted, started and removed.
void measure_churn(const LoadOptions& options);
/// Measures the memory of the service while pods come and go. Throws Failure if it exceeds the
/// limit or grows.
void measure_memory(const LoadOptions& options);

}  // namespace pinfold::load
