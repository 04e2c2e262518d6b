// Plain text tables.
#pragma once

#include <string>
#include <vector>

namespace wgrad::cli {

/// Columns as wide as their longest cell; cells that read as numbers are flushed right.
class Table {
 public:
  explicit Table(std::vector<std::string> header);

  /// One cell per column.
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace wgrad::cli
