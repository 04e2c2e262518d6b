#include "cli/trace/trace_picture.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace wgrad::cli {
namespace {

constexpr double kWidth = 1600;
constexpr double kLeft = 120;   // room for names
constexpr double kLegend = 26;  // its first line, and
constexpr double kLine = 16;    // from one line to the next
constexpr double kRow = 20;
constexpr double kBar = 15;
constexpr double kGap = 10;  // between groups of rows

struct Look {
  std::string_view name;
  const char* colour;
  const char* label;  // in the legend; null: none of its own
};
// Work in colour, waiting in grey and red.
constexpr Look kLooks[] = {
    {"tile", "#eef2f7", nullptr},
    {"load", "#4e79a7", "copy engine: loads"},
    {"store", "#b07aa1", "copy engine: stores"},
    {"multiply", "#59a14f", "multiplication"},
    {"filling", "#6baed6", "stage filling, waited for"},
    {"ahead", "#d3e5f3", "stage filling or full, not needed yet"},
    {"in use", "#8cd17d", "stage in use"},
    {"copy", "#4e79a7", "issues a copy"},
    {"wait empty", "#d9d9d9", "waits for an empty stage"},
    {"wait full", "#e15759", "waits for a full stage"},
    {"wait turn", "#bab0ac", "waits for its turn"},
    {"wait accumulator", "#bab0ac", "waits for an empty accumulator"},
    {"wait sum", "#e15759", "waits for a tile's sums"},
    {"mask", "#f28e2b", "masks foreign tokens"},
    {"wait ring", "#ff9da7", "waits for its output ring"},
    {"write box", "#b07aa1", "writes an output box"},
    {"finish", "#9c755f", "waits for the last stores"},
};

const Look* look_of(std::string_view name) {
  for (const Look& look : kLooks) {
    if (look.name == name) return &look;
  }
  return nullptr;
}

// Engines, stages, producers, math warps.
int order_of(TraceRole role) {
  return static_cast<int>(role);
}

class Picture {
 public:
  Picture(const Timeline& t, const PictureWindow& window, std::ostream& out)
      : t_(t), window_(window), out_(out), y_(t.tracks.size(), -1) {
    double end = window_.from;
    for (const TraceSpan& s : t.spans) {
      if (s.cta == window.cta) end = std::max(end, s.end_us);
    }
    if (window_.to <= window_.from || window_.to > end) window_.to = end;
    place_legend();
    place_rows();
  }

  void draw() {
    fmt::print(out_,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{:.0f}\" "
               "font-family=\"sans-serif\" font-size=\"11\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
               "<text x=\"8\" y=\"16\" font-size=\"13\">CTA {}: {}</text>\n",
               kWidth, bottom_ + 30, window_.cta, t_.plan);
    legend();
    axis();
    for (std::size_t track = 0; track < y_.size(); ++track) {
      if (y_[track] < 0) continue;
      fmt::print(out_, "<text x=\"8\" y=\"{:.1f}\">{}</text>\n", y_[track] + kBar - 3,
                 t_.tracks[track].name);
    }
    for (const bool tiles : {true, false}) {  // tiles lie under everything
      for (const TraceSpan& s : t_.spans) {
        if (s.cta == window_.cta && (s.name == "tile") == tiles) bar(s);
      }
    }
    out_ << "</svg>\n";
  }

 private:
  bool visible(const TraceSpan& s) const {
    return s.end_us > window_.from && s.begin_us < window_.to;
  }
  double x(double us) const {
    const double inside = std::clamp(us, window_.from, window_.to);
    return kLeft + (inside - window_.from) / (window_.to - window_.from) * (kWidth - kLeft - 12);
  }

  void place_rows() {
    std::set<std::size_t> used;
    for (const TraceSpan& s : t_.spans) {
      if (s.cta == window_.cta) used.insert(static_cast<std::size_t>(s.track));
    }
    std::vector<std::size_t> rows(used.begin(), used.end());
    const auto group = [&](std::size_t track) {
      return 16 * order_of(t_.tracks[track].role) + t_.tracks[track].group;
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return group(a) < group(b); });
    bottom_ = top_;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0 && group(rows[i]) != group(rows[i - 1])) bottom_ += kGap;
      y_[rows[i]] = bottom_;
      bottom_ += kRow;
    }
  }

  struct LegendEntry {
    const Look* look;
    double x, y;
  };
  /// In lines as wide as the picture. Sets where the rows begin.
  void place_legend() {
    double at = 8, line = kLegend;
    for (const Look& look : kLooks) {
      const bool seen = std::any_of(t_.spans.begin(), t_.spans.end(), [&](const TraceSpan& s) {
        return s.cta == window_.cta && s.name == look.name;
      });
      if (look.label == nullptr || !seen) continue;
      const double width = 30 + 5.8 * static_cast<double>(std::string_view(look.label).size());
      if (at + width > kWidth) {
        at = 8;
        line += kLine;
      }
      legend_.push_back({&look, at, line});
      at += width;
    }
    top_ = line + 38;
  }

  void legend() {
    for (const LegendEntry& e : legend_) {
      fmt::print(out_,
                 "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"11\" height=\"11\" fill=\"{}\"/>"
                 "<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"10\">{}</text>\n",
                 e.x, e.y, e.look->colour, e.x + 14, e.y + 10, e.look->label);
    }
  }

  void axis() {
    const double span = window_.to - window_.from;
    if (!(span > 0)) return;  // nothing happened on this CTA
    double step = std::pow(10.0, std::floor(std::log10(span / 16)));  // 1, 2, 5, 10, ...
    for (const double next : {2.0, 2.5, 2.0}) {
      if (span / step > 16) step *= next;
    }
    const auto first = static_cast<int>(std::ceil(window_.from / step));
    for (int i = first; i * step <= window_.to; ++i) {
      const double us = i * step;
      fmt::print(
          out_,
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.0f}\" "
          "stroke=\"#cccccc\" stroke-width=\"0.5\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" fill=\"#666666\" text-anchor=\"{5}\">{4:.6g} us</text>\n",
          x(us), top_ - 4, bottom_, top_ - 8, us, x(us) > kWidth - 60 ? "end" : "start");
    }
  }

  void bar(const TraceSpan& s) {
    const Look* look = look_of(s.name);
    const double y = y_[static_cast<std::size_t>(s.track)];
    if (look == nullptr || y < 0 || !visible(s)) return;
    const bool tile = s.name == "tile", waits = s.name.substr(0, 4) == "wait";
    // Short waits stay as thin as they are: there are many, and together they would look long.
    const double left = x(s.begin_us), width = std::max(x(s.end_us) - left, waits ? 0.01 : 0.4);
    // What nests inside a multiplication is drawn as its lower half.
    const double top = waits && !tile ? y + kBar / 2 : tile ? y - 2 : y;
    const double height = waits ? kBar / 2 : tile ? kRow - 1 : kBar;
    fmt::print(out_,
               "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"{}>"
               "<title>{} {}: {:.3f} to {:.3f} us</title></rect>\n",
               left, top, width, height, look->colour,
               tile ? " stroke=\"#9aa5b1\" stroke-width=\"0.6\"" : "", s.name, s.detail, s.begin_us,
               s.end_us);
  }

  const Timeline& t_;
  PictureWindow window_;
  std::ostream& out_;
  std::vector<double> y_;  // of each track; below 0: not drawn
  std::vector<LegendEntry> legend_;
  double top_ = 0;
  double bottom_ = 0;
};

}  // namespace

void write_trace_picture(const Timeline& timeline, const PictureWindow& window, std::ostream& out) {
  Picture(timeline, window, out).draw();
}

}  // namespace wgrad::cli
