#include "cli/text/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wgrad::cli {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.+-e") == std::string::npos;
}

}  // namespace

Table::Table(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> width(columns);
  std::vector<bool> right(columns, rows_.size() > 1);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns; ++c) {
      width[c] = std::max(width[c], row[c].size());
      if (&row != &rows_.front()) right[c] = right[c] && is_number(row[c]);
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      line += right[c] ? fmt::format("{:>{}}  ", row[c], width[c])
                       : fmt::format("{:<{}}  ", row[c], width[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace wgrad::cli
