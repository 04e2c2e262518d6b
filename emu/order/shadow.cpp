#include "emu/order/shadow.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace wgrad::emu {
namespace {

const char* verb(OpKind kind) {
  switch (kind) {
    case OpKind::kLoad:
      return "load";
    case OpKind::kStore:
      return "store";
    case OpKind::kAdd:
      return "reduce-add";
    case OpKind::kWgmma:
      return "wgmma";
    case OpKind::kCopy:
      return "copy";
    case OpKind::kTensor:
      return "tcgen05 operation";
  }
  return "operation";
}

// What a thread of another CTA wrote, an asynchronous operation reads once it is released at the
// cluster's scope; a fence and a release at CTA scope say no more than that a stage is handed back.
void check_released(const History& history, const Access& earlier, const Access& access,
                    const ClockView& view, std::uint32_t granule) {
  const bool crosses = (earlier.who & kAsync) == 0 && (access.who & kAsync) != 0;
  if (!crosses || (earlier.mask & access.mask) == 0) return;
  if (history.seen(earlier.who, earlier.clock, history.rank_of(access), view)) return;
  throw ShadowError(FaultKind::kRace,
                    fmt::format("written by {}, read by {}, and nothing orders the two at the "
                                "cluster's scope",
                                history.describe(earlier), history.describe(access)),
                    granule);
}

}  // namespace

bool History::complete_for(const OpRecord& op, const ClockView& view) const {
  if (op.clock == 0) return false;
  for (Agent i = 0; i < op.agents; ++i) {
    if (view[op.agent + i] < op.clock) return false;
  }
  return true;
}

std::uint32_t History::rank_of(const Access& access) const {
  return (access.who & kAsync) == 0 ? access.who / agents.threads_per_cta
                                    : ops[access.who & ~kAsync].cta - first_cta;
}

bool History::seen(Agent who, Clock clock, std::uint32_t rank, const ClockView& view) const {
  const bool near = !agents.scoped() || who / agents.threads_per_cta == rank;
  return view[near ? who : agents.widely + who] >= clock;
}

// Asynchronous operations of another CTA come after what threads did here by less, too: these have
// fenced, and said so at CTA scope. So stages are handed back.
bool History::ordered(const Access& earlier, const Access& access, const ClockView& view) const {
  if ((earlier.who & kAsync) != 0) return complete_for(ops[earlier.who & ~kAsync], view);
  if (seen(earlier.who, earlier.clock, rank_of(access), view)) return true;
  return (access.who & kAsync) != 0 && view[earlier.who] >= earlier.clock &&
         proxy_fences[earlier.who].covers(earlier.clock, view[earlier.who]);
}

bool History::fenced_there(Agent who, Clock clock, std::uint32_t rank,
                           const ClockView& view) const {
  if (knowing_fences.empty()) return false;
  const Agent first = rank * agents.threads_per_cta;
  for (Agent i = first; i < first + agents.threads_per_cta; ++i) {
    for (const KnowingFence& fence : knowing_fences[i]) {
      if (fence.clock <= view[i] && fence.known.values()[agents.widely + who] >= clock) return true;
    }
  }
  return false;
}

Access History::generic(const Access& access) const {
  if ((access.who & kAsync) == 0) return access;
  const OpRecord& op = ops[access.who & ~kAsync];
  return op.kind == OpKind::kCopy ? Access{op.agent, op.clock, access.mask} : access;
}

std::string History::describe(const Access& access) const {
  if ((access.who & kAsync) == 0) {
    const std::uint32_t thread = access.who % agents.threads_per_cta;
    return fmt::format("CTA {} warp {} lane {}", first_cta + access.who / agents.threads_per_cta,
                       thread / 32, thread % 32);
  }
  const OpRecord& op = ops[access.who & ~kAsync];
  // tcgen05's are numbered as in reports of tensor memory: its thread's first, second, ..
  const std::uint32_t number = op.kind == OpKind::kTensor ? op.clock : access.who & ~kAsync;
  return fmt::format("{} #{} of CTA {} warp {} lane {}{}", verb(op.kind), number, op.cta,
                     op.thread / 32, op.thread % 32, op.clock == 0 ? " (still in flight)" : "");
}

void Shadow::raise(FaultKind kind, const std::string& message, std::uint32_t granule) const {
  throw ShadowError(kind, message, granule);
}

bool Shadow::same_agent(const Access& x, const Access& y) const {
  if (((x.who ^ y.who) & kAsync) != 0) return false;
  if ((x.who & kAsync) == 0) return x.who == y.who;
  const OpRecord& p = history_->ops[x.who & ~kAsync];
  const OpRecord& q = history_->ops[y.who & ~kAsync];
  return p.agent == q.agent && p.kind == q.kind;
}

void Shadow::check_after_write(const Access& earlier, const Access& access, const ClockView& view,
                               std::uint32_t granule, const char* action) const {
  if ((earlier.mask & access.mask) == 0) return;
  if (!history_->ordered(earlier, access, view)) {
    raise(FaultKind::kRace,
          fmt::format("written by {}, {} by {}, and nothing orders the two",
                      history_->describe(earlier), action, history_->describe(access)),
          granule);
  }
  const Access writer = history_->generic(earlier);
  const bool crosses = (history_->generic(access).who & kAsync) != 0 && (writer.who & kAsync) == 0;
  if (!crosses) return;
  const bool here = history_->rank_of(writer) == rank_;
  if (!here && !history_->fenced_there(writer.who, writer.clock, rank_, view)) {
    raise(FaultKind::kProxy,
          fmt::format("written from another CTA by {}, without fence_async_shared here by who has "
                      "waited for it, {} by {}",
                      history_->describe(earlier), action, history_->describe(access)),
          granule);
  }
  if (here && !history_->proxy_fences[writer.who].covers(writer.clock, view[writer.who])) {
    raise(FaultKind::kProxy,
          fmt::format("written by {} without fence_async_shared before the barrier, {} by {}",
                      history_->describe(earlier), action, history_->describe(access)),
          granule);
  }
}

void Shadow::check_after_read(const Access& earlier, const Access& access, const ClockView& view,
                              std::uint32_t granule) const {
  if ((earlier.mask & access.mask) == 0 || history_->ordered(earlier, access, view)) return;
  raise(FaultKind::kRace,
        fmt::format("read by {}, overwritten by {}, and nothing orders the two",
                    history_->describe(earlier), history_->describe(access)),
        granule);
}

void Shadow::remember_read(const Access& access, const ClockView& view, std::uint32_t index) {
  Granule& g = granules_[index];
  for (std::uint8_t i = 0; i < g.read_count; ++i) {
    Access& r = g.reads[i];
    if (same_agent(r, access) ||
        ((r.mask & ~access.mask) == 0 && history_->ordered(r, access, view))) {
      r = {access.who, access.clock, static_cast<std::uint16_t>(access.mask | r.mask)};
      return;
    }
  }
  if (g.read_count < 2) {
    g.reads[g.read_count++] = access;
    return;
  }
  g.spilled = true;
  std::vector<Access>& more = spills_[index].reads;
  for (Access& r : more) {
    if (same_agent(r, access)) {
      r = {access.who, access.clock, static_cast<std::uint16_t>(access.mask | r.mask)};
      return;
    }
  }
  more.push_back(access);
}

void Shadow::read(const Access& access, const ClockView& view, std::uint32_t index) {
  Granule& g = granules_[index];
  if ((access.mask & ~g.written) != 0) {
    raise(FaultKind::kUninitialised,
          fmt::format("read by {}, written by nobody", history_->describe(access)), index);
  }
  check_after_write(g.write, access, view, index, "read");
  check_released(*history_, g.write, access, view, index);
  if (g.spilled) {
    for (const Access& w : spills_[index].writes) {
      check_after_write(w, access, view, index, "read");
      check_released(*history_, w, access, view, index);
    }
  }
  remember_read(access, view, index);
}

void Shadow::write(const Access& access, const ClockView& view, std::uint32_t index) {
  Granule& g = granules_[index];
  check_after_write(g.write, access, view, index, "overwritten");
  for (std::uint8_t i = 0; i < g.read_count; ++i) check_after_read(g.reads[i], access, view, index);
  if (g.spilled) {
    Spill& spill = spills_[index];
    for (const Access& w : spill.writes) check_after_write(w, access, view, index, "overwritten");
    for (const Access& r : spill.reads) check_after_read(r, access, view, index);
  }
  g.written |= access.mask;
  const auto left = [&](const Access& x) {
    return static_cast<std::uint16_t>(x.mask & ~access.mask);
  };
  const bool whole = left(g.write) == 0;
  if (g.spilled) {
    Spill& spill = spills_[index];
    for (std::vector<Access>* list : {&spill.writes, &spill.reads}) {
      for (Access& x : *list) x.mask = left(x);
      std::erase_if(*list, [](const Access& x) { return x.mask == 0; });
    }
    if (spill.writes.empty() && spill.reads.empty()) {
      spills_.erase(index);
      g.spilled = false;
    }
  }
  std::uint8_t kept = 0;
  for (std::uint8_t i = 0; i < g.read_count; ++i) {
    g.reads[i].mask = left(g.reads[i]);
    if (g.reads[i].mask != 0) g.reads[kept++] = g.reads[i];
  }
  g.read_count = kept;
  if (!whole) {
    g.write.mask = left(g.write);
    g.spilled = true;
    spills_[index].writes.push_back(g.write);
  }
  g.write = access;
}

}  // namespace wgrad::emu
