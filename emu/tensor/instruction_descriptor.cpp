#include "emu/tensor/instruction_descriptor.hpp"

#include <fmt/format.h>

#include "emu/fault.hpp"

namespace wgrad::emu {
namespace {

using shared::MmaKind;

/// Reads fields, and refuses in a sentence.
struct Reader {
  std::uint32_t bits;

  std::uint32_t field(std::uint32_t first, std::uint32_t last) const {
    return bits >> first & ((2u << (last - first)) - 1);
  }
  void require(bool ok, const std::string& what) const {
    if (ok) return;
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("instruction descriptor {:#010x}: {}", bits, what));
  }
  void require_zero(std::uint32_t first, std::uint32_t last, const char* what) const {
    require(field(first, last) == 0, fmt::format("bits {}-{} {}", first, last, what));
  }
};

constexpr const char* kReserved = "must be 0";
constexpr const char* kUnmodelled = "ask for what is not modelled";

MmaElement byte_element(const Reader& r, std::uint32_t code) {
  r.require(code <= 1, fmt::format("element type {} is neither e4m3 (0) nor e5m2 (1), and padded "
                                   "FP4 and FP6 are not modelled",
                                   code));
  return code == 0 ? MmaElement::kE4m3 : MmaElement::kE5m2;
}

void read_f16(const Reader& r, InstructionDescriptor& d) {
  r.require_zero(3, 3, kReserved);
  r.require(r.field(4, 5) == 1, "the results' type must be FP32 (1)");
  r.require_zero(6, 6, kReserved);
  r.require(r.field(7, 9) <= 1 && r.field(7, 9) == r.field(10, 12),
            "A and B must both be FP16 (0) or both BF16 (1)");
  d.a = d.b = r.field(7, 9) == 0 ? MmaElement::kFp16 : MmaElement::kBf16;
  r.require_zero(23, 23, kReserved);
  r.require_zero(29, 31, kReserved);
  d.m = r.field(24, 28) * 16;
}

void read_scaled(const Reader& r, MmaKind kind, InstructionDescriptor& d) {
  r.require_zero(3, 3, kReserved);
  r.require_zero(6, 6, kReserved);
  d.scale_byte_b = r.field(4, 5);
  d.scale_byte_a = r.field(29, 30);
  d.e8m0 = r.field(23, 23) == 1;
  r.require_zero(24, 26, kReserved);
  r.require_zero(31, 31, kind == MmaKind::kMxf8f6f4 ? kReserved : kUnmodelled);
  d.m = r.field(27, 28) * 128;
  if (kind == MmaKind::kMxf8f6f4) {
    d.a = byte_element(r, r.field(7, 9));
    d.b = byte_element(r, r.field(10, 12));
    r.require(d.e8m0, "scale factors of mxf8f6f4 are e8m0 (bit 23)");
    return;
  }
  r.require(r.field(7, 9) == 1 && r.field(10, 11) == 1, "packed e2m1 is type 1");
  r.require_zero(12, 12, kReserved);
  r.require_zero(15, 16, "must be 0: packed e2m1 is K-major");
  d.a = d.b = MmaElement::kE2m1;
  const std::uint32_t ids = d.scale_byte_a | d.scale_byte_b;
  if (kind == MmaKind::kMxf4) {
    r.require(d.e8m0, "scale factors of mxf4 are e8m0 (bit 23)");
    r.require(ids % 2 == 0, "two scale factors begin at byte 0 or 2");
  } else {
    r.require(ids == 0, "four scale factors begin at byte 0");
  }
}

// PTX ISA, 9.7.16.2.1; N of M 128 as CUTLASS has it (a multiple of 16 where PTX says 8).
void require_shape(const Reader& r, MmaKind kind, std::uint32_t ctas,
                   const InstructionDescriptor& d) {
  const bool f16 = kind == MmaKind::kF16;
  const bool m_fits = ctas == 2 ? d.m == 128 || d.m == 256 : d.m == 128 || (f16 && d.m == 64);
  r.require(m_fits, fmt::format("M = {} with cta_group::{}", d.m, ctas));
  const bool bytes_mn = kind == MmaKind::kMxf8f6f4 && d.b_mn_major;
  const std::uint32_t single = bytes_mn || (f16 && d.m == 128) ? 16 : 8;
  const std::uint32_t step = ctas == 1 ? single : bytes_mn ? 32 : 16;
  r.require(d.n >= step && d.n <= 256 && d.n % step == 0,
            fmt::format("N = {} is no multiple of {} up to 256", d.n, step));
}

}  // namespace

InstructionDescriptor InstructionDescriptor::decode(std::uint32_t bits, MmaKind kind,
                                                    std::uint32_t ctas) {
  const Reader r{bits};
  InstructionDescriptor d;
  r.require_zero(0, 2, kUnmodelled);    // sparse
  r.require_zero(13, 14, kUnmodelled);  // negation
  d.a_mn_major = r.field(15, 15) != 0;
  d.b_mn_major = r.field(16, 16) != 0;
  d.n = r.field(17, 22) * 8;
  if (kind == MmaKind::kF16) {
    read_f16(r, d);
  } else {
    read_scaled(r, kind, d);
  }
  require_shape(r, kind, ctas, d);
  return d;
}

}  // namespace wgrad::emu
