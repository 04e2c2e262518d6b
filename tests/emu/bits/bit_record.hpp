// A file of digests: lines "digest | name"; # starts a comment.
#pragma once

#include <map>
#include <string>

namespace wgrad::test {

using BitRecord = std::map<std::string, std::string>;  // digest by name

/// Throws std::runtime_error where there is no such file, or a line is none.
BitRecord read_bit_record(const std::string& path);
void write_bit_record(const std::string& path, const BitRecord& record);

}  // namespace wgrad::test
