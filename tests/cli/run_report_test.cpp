#include "cli/commands/run_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/app.hpp"

namespace wgrad::cli {
namespace {

Row right_row() {
  Row row;
  row.shape = "olmoe";
  row.scale = 0.25;
  row.problem.experts = 64;
  row.problem.m = 512;
  row.problem.n = 256;
  row.problem.tokens = 16384;
  row.times_ms = {3.0, 1.0, 2.0};
  row.check.samples = 512;
  row.check.max_error = 1e-7;
  row.check.max_of_bound = 0.5;
  row.backend = "cpu";
  row.plan = "some plan";
  return row;
}

struct Reported {
  int code = 0;
  std::string out;
  std::string err;
};

Reported reported(const std::vector<Row>& rows, bool json = false) {
  RunFlags flags;
  flags.json = json;
  std::ostringstream out;
  std::ostringstream err;
  const int code = report(flags, rows, DeviceSpec{}, out, err);
  return {code, out.str(), err.str()};
}

TEST(RunReport, PrintsMedianRateAndScale) {
  const Reported r = reported({right_row()});
  EXPECT_EQ(r.code, kOk);
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("olmoe"), std::string::npos);
  EXPECT_NE(r.out.find(" 1/4 "), std::string::npos);
  EXPECT_NE(r.out.find(" 2.000 "), std::string::npos);
  EXPECT_NE(r.out.find(" 2147.5 "), std::string::npos) << r.out;  // 2*16384*512*256 / 2 ms
  EXPECT_NE(r.out.find("scale auto: "), std::string::npos);
  EXPECT_NE(r.out.find("error: |got - exact| / sum|a*b|"), std::string::npos);
}

TEST(RunReport, AWrongResultMakesTheExitCode) {
  Row wrong = right_row();
  wrong.check.failure = "Wgrad[0][1][2] is 3; it must be 4 within 0.1";
  const Reported r = reported({right_row(), wrong});
  EXPECT_EQ(r.code, kCheckFailed);
  EXPECT_EQ(r.err, "wgrad: olmoe: Wgrad[0][1][2] is 3; it must be 4 within 0.1\n");
  EXPECT_NE(r.out.find("FAILED"), std::string::npos);
  EXPECT_EQ(reported({wrong}, true).code, kCheckFailed);
}

TEST(RunReport, JsonHasTheSameFigures) {
  const auto document = nlohmann::json::parse(reported({right_row()}, true).out);
  const auto& row = document.at("rows").at(0);
  EXPECT_EQ(row.at("shape"), "olmoe");
  EXPECT_EQ(row.at("tokens"), 16384);
  EXPECT_EQ(row.at("ms"), 2.0);
  EXPECT_EQ(row.at("ok"), true);
  EXPECT_NEAR(row.at("gflops").get<double>(), 2147.48, 0.01);
}

}  // namespace
}  // namespace wgrad::cli
