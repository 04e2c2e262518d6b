#include "emu/fault.hpp"

namespace wgrad::emu {

const char* name(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::kRace:
      return "race";
    case FaultKind::kProxy:
      return "missing proxy fence";
    case FaultKind::kFence:
      return "missing tcgen05 fence";
    case FaultKind::kUninitialised:
      return "uninitialised memory";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kOutOfBounds:
      return "out of bounds";
    case FaultKind::kMisaligned:
      return "misaligned";
    case FaultKind::kIllegal:
      return "illegal instruction";
    case FaultKind::kEndless:
      return "no end";
  }
  return "fault";
}

std::string Fault::text() const {
  std::string all = name(kind);
  if (!where.empty()) all += " at " + where;
  return all + ": " + message;
}

}  // namespace wgrad::emu
