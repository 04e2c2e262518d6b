// Lays logical values out in memory as the contract says, poison in every byte that means nothing.
// Index arithmetic here is written apart from the library's, which it tests.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/cases/case.hpp"
#include "harness/cases/logical.hpp"

namespace wgrad::harness {

using Bytes = std::vector<std::uint8_t>;

/// An operand's bytes and its leading dimension in elements.
struct OperandImage {
  Bytes bytes;
  std::int64_t ld = 0;
};
OperandImage operand_image(const Case& c, const LogicalOperand& operand, Major major,
                           std::int64_t pad);

struct ScaleImage {
  Bytes bytes;
  std::int64_t cols = 0;
};
ScaleImage scale_image(const Case& c, const LogicalOperand& operand);

/// Wgrad with canaries around every expert and in every gap.
class OutputImage {
 public:
  explicit OutputImage(const Case& c);

  const Bytes& bytes() const { return bytes_; }
  /// Byte of element (0, 0) of expert e; a multiple of 16.
  std::int64_t expert_offset(std::size_t e) const { return expert_offsets_[e]; }
  std::int64_t cell_offset(std::size_t e, std::int64_t i, std::int64_t j) const;

 private:
  void place_experts(const Case& c);
  void fill_cells(const Case& c);

  Problem problem_;
  std::vector<std::int64_t> expert_offsets_;
  Bytes bytes_;
};

/// The code stored at `offset` of an image, and its value.
std::uint32_t read_code(const Bytes& bytes, std::int64_t offset, DType dtype);
double read_value(const Bytes& bytes, std::int64_t offset, DType dtype);

}  // namespace wgrad::harness
