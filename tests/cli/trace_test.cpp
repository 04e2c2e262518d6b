// wgrad trace: the files it writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "cli/trace/trace_json.hpp"
#include "cli/trace/trace_picture.hpp"

namespace wgrad::cli {
namespace {

Timeline two_spans() {
  Timeline t;
  t.plan = "plan";
  t.tracks = {{"producer 0", TraceRole::kProducer, 0}, {"math 0 warp 0", TraceRole::kMath, 0}};
  t.spans = {{0, 0, "copy", 3, 1.0, 1.5}, {0, 1, "wait full", 3, 1.25, 4.0}};
  return t;
}

TEST(TraceJson, IsWhatAViewerReads) {
  std::ostringstream out;
  write_trace_json(two_spans(), out);
  const auto events = nlohmann::json::parse(out.str()).at("traceEvents");
  std::set<std::string> names;
  for (const auto& e : events) {
    if (e.at("name") == "thread_name") names.insert(e.at("args").at("name"));
    if (e.at("name") != "wait full") continue;
    EXPECT_EQ(e.at("ph"), "X");
    EXPECT_EQ(e.at("tid"), 1);
    EXPECT_DOUBLE_EQ(e.at("ts"), 1.25);
    EXPECT_DOUBLE_EQ(e.at("dur"), 2.75);
    EXPECT_EQ(e.at("args").at("detail"), 3);
  }
  EXPECT_EQ(names, (std::set<std::string>{"producer 0", "math 0 warp 0"}));
}

std::size_t bars(const PictureWindow& window) {
  std::ostringstream out;
  write_trace_picture(two_spans(), window, out);
  const std::string text = out.str();
  EXPECT_EQ(text.rfind("<svg", 0), 0U);
  EXPECT_NE(text.find("</svg>"), std::string::npos);
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find("<title>", at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(TracePicture, DrawsWhatTheWindowShows) {
  EXPECT_EQ(bars({}), 2U);
  EXPECT_EQ(bars({0, 2.0, 3.0}), 1U);
  EXPECT_EQ(bars({1, 0, 0}), 0U);
}

#ifdef WGRAD_WITH_EMU
struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

/// `trace` of one small shape.
Ran traced(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"trace", "--m", "256", "--n", "256", "--counts", "64,130"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::ostringstream out, err;
  const int code = run_app(arguments, out, err);
  return {code, out.str(), err.str()};
}

TEST(TraceCommand, SaysWhichFileItCouldNotWriteToItsEnd) {
  const Ran json = traced({"--timeline", "/dev/full"});
  EXPECT_EQ(json.code, kCannotRun);
  EXPECT_EQ(json.err.rfind("wgrad: --timeline /dev/full cannot be written to its end", 0), 0U)
      << json.err;
  const Ran svg = traced({"--timeline", "/dev/null", "--picture", "/dev/full"});
  EXPECT_EQ(svg.code, kCannotRun);
  EXPECT_EQ(svg.err.rfind("wgrad: --picture /dev/full cannot be written to its end", 0), 0U)
      << svg.err;
}

TEST(TraceCommand, RefusesWhatThePictureCannotShow) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals = {
      {{"--cta", "99"}, "wgrad: --cta is 99; it must be from 0 to 1, the last one\n"},
      {{"--from", "5", "--to", "1"}, "wgrad: --to is 1; it must be above --from, 5 us\n"},
      {{"--to", "0"}, "wgrad: --to is 0; it must be above --from, 0 us\n"},
      {{"--to", "inf"}, "wgrad: --to is inf; it must be above --from, 0 us\n"},
      {{"--to", "nan"}, "wgrad: --to is nan; it must be above --from, 0 us\n"},
      {{"--from", "nan"}, "wgrad: --from is nan; it must be 0 us or more\n"},
      {{"--from=-1"}, "wgrad: --from is -1; it must be 0 us or more\n"},
      {{"--from", "1e9"}, "wgrad: --from is 1000000000; it must be below "},
  };
  for (const auto& [flags, sentence] : refusals) {
    std::vector<std::string> all = {"--timeline", "/dev/null", "--picture", "/dev/zero"};
    all.insert(all.end(), flags.begin(), flags.end());
    const Ran r = traced(all);
    EXPECT_EQ(r.code, kBadArgument) << sentence;
    EXPECT_EQ(r.err.rfind(sentence, 0), 0U) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST(TraceCommand, SaysWhatItChecked) {
  const Ran once = traced({"--timeline", "/dev/null", "--accumulate", "--out-dtype", "fp32"});
  EXPECT_EQ(once.code, kOk) << once.err;
  EXPECT_NE(once.out.find("\n256 elements checked against plain loops in double\n"),
            std::string::npos)
      << once.out;
  const Ran more =
      traced({"--timeline", "/dev/null", "--accumulate", "--out-dtype", "fp32", "--warmup", "1"});
  EXPECT_EQ(more.code, kOk) << more.err;
  EXPECT_NE(more.out.find("\nnot checked: warm-up runs accumulate too\n"), std::string::npos)
      << more.out;
}

TEST(TraceCommand, WritesBothFiles) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string json = (folder / "wgrad_trace_test.json").string();
  const std::string svg = (folder / "wgrad_trace_test.svg").string();
  std::ostringstream out, err;
  ASSERT_EQ(run_app({"trace", "--m", "256", "--n", "256", "--counts", "64,130", "--timeline", json,
                     "--picture", svg},
                    out, err),
            kOk)
      << err.str();
  EXPECT_NE(out.str().find("math 1 warp:  multiply"), std::string::npos) << out.str();
  std::ifstream file(json);
  EXPECT_GT(nlohmann::json::parse(file).at("traceEvents").size(), 100U);
  EXPECT_GT(std::filesystem::file_size(svg), 1000U);
  std::filesystem::remove(json);
  std::filesystem::remove(svg);
}
#endif

/// What a small trace with `more` flags says, ending in `code`.
std::string refusal(int code, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"trace", "--m", "256", "--n", "256", "--counts", "64"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::ostringstream out, err;
  EXPECT_EQ(run_app(arguments, out, err), code) << err.str();
  return err.str();
}

TEST(TraceCommand, NamesTheFlagOfAFileThatCannotBeOpened) {
  EXPECT_EQ(refusal(kCannotRun, {"--timeline", "/no/such/t.json"}),
            "wgrad: --timeline '/no/such/t.json' cannot be written: No such file or directory\n");
  EXPECT_EQ(refusal(kCannotRun, {"--timeline", "/dev/null", "--picture", "/no/such/t.svg"}),
            "wgrad: --picture '/no/such/t.svg' cannot be written: No such file or directory\n");
  EXPECT_EQ(refusal(kCannotRun, {"--timeline", "/dev/null", "--picture", ""}),
            "wgrad: --picture '' cannot be written: No such file or directory\n");
}

TEST(TraceCommand, RefusesFilesAndFlagsThatContradictEachOther) {
  EXPECT_EQ(refusal(kBadArgument, {"--timeline", "no_such_file", "--picture", "./no_such_file"}),
            "wgrad: --picture is ./no_such_file; it must be another file than --timeline\n");
  EXPECT_FALSE(std::filesystem::exists("no_such_file"));
  for (const std::string flag : {"--cta", "--from", "--to"}) {
    EXPECT_EQ(refusal(kBadArgument, {flag, "1"}).rfind(flag + " requires --picture", 0), 0U);
  }
}

TEST(TraceCommand, TakesOneShape) {
  std::ostringstream out, err;
  EXPECT_EQ(run_app({"trace"}, out, err), kBadArgument);
  EXPECT_NE(err.str().find("one shape"), std::string::npos) << err.str();
}

}  // namespace
}  // namespace wgrad::cli
