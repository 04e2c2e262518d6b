#include "cli/trace/trace_json.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <set>
#include <utility>

namespace wgrad::cli {
namespace {

void name_tracks(const Timeline& t, std::ostream& out) {
  std::set<int> ctas;
  std::set<std::pair<int, int>> used;
  for (const TraceSpan& s : t.spans) {
    ctas.insert(s.cta);
    used.insert({s.cta, s.track});
  }
  for (const int cta : ctas) {
    fmt::print(out, R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"CTA {}"}}}},)",
               cta, cta);
    out << '\n';
  }
  for (const auto& [cta, track] : used) {
    fmt::print(out,
               R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}},)",
               cta, track, t.tracks[static_cast<std::size_t>(track)].name);
    fmt::print(out, R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},)", cta, track);
    fmt::print(out, R"("args":{{"sort_index":{}}}}},)", track);
    out << '\n';
  }
}

}  // namespace

void write_trace_json(const Timeline& t, std::ostream& out) {
  fmt::print(out, R"({{"otherData":{{"plan":"{}","cycles_per_us":{:.1f}}},"displayTimeUnit":"ns",)",
             t.plan, t.cycles_per_us);
  out << R"("traceEvents":[)";
  out << '\n';
  name_tracks(t, out);
  const char* separator = "";
  for (const TraceSpan& s : t.spans) {
    fmt::print(out, R"({}{{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.4f},"dur":{:.4f},)",
               separator, s.name, s.cta, s.track, s.begin_us, s.end_us - s.begin_us);
    fmt::print(out, R"("args":{{"detail":{}}}}})", s.detail);
    separator = ",\n";
  }
  out << "]}\n";
}

}  // namespace wgrad::cli
