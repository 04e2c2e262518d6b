#include "emu/bits/bit_record.hpp"

#include <fstream>
#include <stdexcept>

namespace wgrad::test {
namespace {

constexpr const char* kBetween = " | ";

}  // namespace

BitRecord read_bit_record(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  BitRecord record;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t at = line.find(kBetween);
    if (at == std::string::npos) throw std::runtime_error(path + ": not a record: " + line);
    record[line.substr(at + 3)] = line.substr(0, at);
  }
  return record;
}

void write_bit_record(const std::string& path, const BitRecord& record) {
  std::ofstream file(path);
  for (const auto& [name, digest] : record) file << digest << kBetween << name << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace wgrad::test
