#include "cli/app.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include "wgrad/device_spec.hpp"

namespace wgrad::cli {
namespace {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran ran(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_app(arguments, out, err);
  return {code, out.str(), err.str()};
}

const std::string kSmall =
    "run --m 32 --n 32 --counts 38,0,130,2 --repeat 2 --backend reference --json ";

class EveryFormat : public testing::TestWithParam<const char*> {};

TEST_P(EveryFormat, RunsAndPassesTheCheck) {
  const std::string format = std::string(" --format ") + GetParam();
  for (const char* rest :
       {" ", " --accumulate --out-dtype fp32 --output discrete", " --order ragged --majors kk"}) {
    const Ran r = ran(kSmall + format + rest);
    ASSERT_EQ(r.code, kOk) << rest << r.err;
    const auto row = nlohmann::json::parse(r.out).at("rows").at(0);
    EXPECT_EQ(row.at("experts"), 4);
    EXPECT_EQ(row.at("tokens"), 170);
    EXPECT_EQ(row.at("times_ms").size(), 2U);
    EXPECT_EQ(row.at("ok"), true);
    EXPECT_GE(row.at("samples").get<int>(), 512);
    EXPECT_GT(row.at("ms").get<double>(), 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat,
                         testing::Values("bf16", "fp16", "mxfp8-e4m3", "mxfp8-e5m2", "mxfp4",
                                         "fp8-rowwise-e4m3", "fp8-1x128-e5m2", "nvfp4"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

#ifdef WGRAD_WITH_EMU
TEST(App, RunsOnTheEmulatedGpu) {
  const Ran r = ran("run --m 72 --n 136 --counts 38,0,130,2 --repeat 1 --backend emu --samples 64");
  ASSERT_EQ(r.code, kOk) << r.err;
  EXPECT_NE(r.out.find("emulated"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("2 SMs; ms: median of 1 runs of the emulator"), std::string::npos) << r.out;
}
#endif

TEST(App, RunsOnAGpu) {
  if (cuda_device_count() == 0 || cuda_device(0).arch != 90)
    GTEST_SKIP() << "no CUDA device of SM 9.0 on this machine";
  for (const std::string rest : {" --order ragged --majors kk", " --format fp16 --accumulate",
                                 " --output discrete --out-dtype fp32"}) {
    const Ran r = ran("run --m 264 --n 136 --counts 38,0,130,2 --repeat 2 --backend cuda" + rest);
    EXPECT_EQ(r.code, kOk) << rest << r.err;
    EXPECT_NE(r.out.find(" SMs; ms: median of 2\n"), std::string::npos) << r.out;
  }
}

TEST(App, RunsNamedShapesScaledDown) {
  const Ran r = ran("run olmoe one-hot --scale 0.01 --repeat 1 --backend reference");
  ASSERT_EQ(r.code, kOk) << r.err;
  EXPECT_NE(r.out.find("olmoe"), std::string::npos);
  EXPECT_NE(r.out.find("one-hot"), std::string::npos);
  EXPECT_NE(r.out.find("plain loops in double"), std::string::npos);
}

TEST(App, RefusesInWordsWithTheExitCodeOfABadArgument) {
  const std::vector<std::pair<std::string, std::string>> refusals = {
      {"run --format bf17", "--format: bf17 not in {bf16,fp16,mxfp8-e4m3"},
      {"run --fromat bf16", "not expected: --fromat"},
      {"run --m", "--m"},
      {"run --m two", "--m"},
      {"run all olmoe", "shape is 'all' beside 1 more; it must stand alone"},
      {"run --m 8 --n 8 --counts 3 --cluster 0,0", "--cluster is 0,0; it must be a pair of powers"},
      {"run --json olmo\xff", "argument 3 is no UTF-8; it must be, for --json repeats it"},
      {"run --m 2147483640 --n 2147483640 --counts 3",
       "n is 2147483640; it must be at most 536870914"},
      {"run --m 8 --n 8 --experts 2147483647 --tokens 10",
       "whose operands and outputs take 264 GiB; it"},
      {"run --m 1000000 --n 1000000 --counts 3", "it must be one that this machine's memory of "},
      {"run olmo", "shape is 'olmo'; it must be 'all' or one of dsv3-ep64-gate"},
      {"run --scale 7", "--scale is 7; it must be 'auto' or above 0 and at most 1"},
      {"run --m 8 --n 43 --counts 3", "n is 43 (86 bytes a row of the output)"},
      {"run --m 8 --n 8 --counts 3 --backend gpu", "backend is 'gpu'; it must be one of"},
      {"run --m 8 --n 8 --counts 3 --gpu 1", "--gpu is given; it is for --backend cuda"},
      {"run --m 8 --n 8 --counts 3,4 --format mxfp4 --backend reference", "even"},
      {"run --shapes-file no-such-file", "no-such-file cannot be read"},
      {"run --shapes-file /dev/null", "the shapes file names no shape"},
      {"run --threads 0", "--threads is '0'; it must be a whole number from 1 to 2147483647"},
      {"run --samples 1e3", "--samples is '1e3'; it must be a whole number from 1 to "},
      {"run --gpu -1", "--gpu is '-1'; it must be a whole number from 0 to 2147483647"},
      {"run --m 99999999999999999999", "--m is '99999999999999999999'; it must be a whole number"},
      {"explain olmoe --device cuda --threads 4", "--threads is for a CPU; --device is cuda"},
      {"explain --device sm42", "--device: sm42 not in {cpu,cuda,sm90,sm100,sm103}"},
      {"explain olmoe --sms 99", "--sms is for a GPU; --device is cpu"},
      {"explain olmoe --sm-limit 9", "--sm-limit is for a GPU; --device is cpu"},
      {"explain olmoe --device sm90 --threads 4", "--threads is for a CPU; --device is sm90"},
      {"explain --m 64 --n 64 --counts 9223372036854775807,9223372036854775807,10",
       "counts[0] is 9223372036854775807; it must be from 0 to 2147483647"},
      {"explain --m 8 --n 8 --counts 1,,2",
       "--counts is '1,,2'; it must be whole numbers between commas"},
      {"explain --m 8 --n 8 --counts 1,2,", "--counts is '1,2,'; it must be whole numbers between"},
      {"explain --m 8 --n 8 --counts 3,-1", "counts[1] is -1; it must be from 0"},
      {"explain --m 8 --n 8 --counts 99999999999999999999", "--counts is '99999999999999999999'; "},
      {"explain --tile 128,,64",
       "--tile is '128,,64'; it must be two whole numbers with a comma between"},
      {"explain --cluster 2",
       "--cluster is '2'; it must be two whole numbers with a comma between"},
      {"explain --seed -1", "--seed is '-1'; it must be a whole number from 0 to 2^64 - 1"},
      {"explain --seed 18446744073709551616", "--seed is '18446744073709551616'; it must be a"},
      {"explain --shapes-file /", "--shapes-file / cannot be read"},
      {"foo", "command is 'foo'; it must be one of run, explain, info, precompile, trace"},
      {"foo --help", "command is 'foo'; it must be one of run, explain, info, precompile, trace"},
      {"", "A subcommand is required"},
  };
  for (const auto& [line, words] : refusals) {
    const Ran r = ran(line);
    EXPECT_EQ(r.code, kBadArgument) << line;
    EXPECT_NE(r.err.find(words), std::string::npos) << line << " said: " << r.err;
    EXPECT_EQ(r.out, "") << line;
  }
}

TEST(App, ExplainNotesWhatPackedRowsWouldBreak) {
  const Ran r = ran("explain --m 7 --n 8 --counts 3");
  EXPECT_EQ(r.code, kOk);
  EXPECT_NE(
      r.out.find("note: not with packed rows, as `wgrad run` has them: a_ld is 7 elements (14 "
                 "bytes); it must be a multiple of 16 bytes"),
      std::string::npos)
      << r.out;
  EXPECT_EQ(ran("explain --m 8 --n 8 --counts 3").out.find("packed rows"), std::string::npos);
}

TEST(App, ExplainsAPlanAndItsRefusals) {
  const Ran plain = ran("explain --m 64 --n 48 --counts 3,4");
  EXPECT_EQ(plain.code, kOk);
  EXPECT_NE(plain.out.find("E 2, M 64, N 48, T 7: "), std::string::npos) << plain.out;
  const Ran broken = ran("explain --m 64 --n 43 --counts 3 --tile 128,96 --json");
  EXPECT_EQ(broken.code, kOk);
  const auto shape = nlohmann::json::parse(broken.out).at("shapes").at(0);
  EXPECT_EQ(shape.at("supported"), false);
  EXPECT_EQ(shape.at("reasons").at(0).at("rule"), "row-alignment");
  EXPECT_EQ(shape.at("reasons").at(1).at("rule"), "tiling");
}

TEST(App, ExplainsForPartOfADevice) {
  const Ran r = ran("explain mixtral-8x7b --device sm90 --sm-limit 9");
  EXPECT_EQ(r.code, kOk);
  EXPECT_NE(r.out.find(", grid 9, "), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find(", grid 132, "), std::string::npos) << r.out;
}

TEST(App, ExplainsForADeviceThatIsNotHere) {
  const Ran r = ran("explain mixtral-8x7b --device sm90 --json");
  ASSERT_EQ(r.code, kOk) << r.err;
  const auto document = nlohmann::json::parse(r.out);
  EXPECT_EQ(document.at("device"), "sm90 (as an H200)");
  EXPECT_EQ(document.at("shapes").at(0).at("m"), 4096);
}

TEST(App, ExplainsForTheFirstGpuOfTheMachine) {
  const Ran r = ran("explain mixtral-8x7b --device cuda");
  if (cuda_device_count() == 0) {
    EXPECT_EQ(r.code, kCannotRun);
    EXPECT_NE(r.err.find("CUDA"), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
    return;
  }
  EXPECT_EQ(r.code, kOk) << r.err;
  EXPECT_EQ(r.out.rfind("device: " + cuda_device(0).name + "\n", 0), 0U) << r.out;
  EXPECT_NE(r.out.find(" cuda "), std::string::npos) << r.out;
}

TEST(App, InfoSaysWhetherAGpuCanBeEmulated) {
#ifdef WGRAD_WITH_EMU
  const bool emulated = true;
#else
  const bool emulated = false;
#endif
  EXPECT_NE(ran("info").out.find(emulated ? "\nemulated GPU  yes\n" : "\nemulated GPU  no\n"),
            std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(ran("info --json").out).at("emulated_gpu"), emulated);
}

TEST(App, InfoNamesTheCpuAndSaysWhyThereIsNoGpu) {
  const Ran text = ran("info");
  EXPECT_EQ(text.code, kOk);
  EXPECT_NE(text.out.find("threads"), std::string::npos);
  const auto document = nlohmann::json::parse(ran("info --json").out);
  EXPECT_GE(document.at("cpu").at("threads").get<int>(), 1);
  EXPECT_EQ(document.at("cpu").at("backends_on_request").at(0), "reference");
  const auto onednn = document.at("cpu").at("onednn").get<std::string>();
  const auto backends = document.at("cpu").at("backends").get<std::vector<std::string>>();
  EXPECT_EQ(backends,
            onednn.empty() ? std::vector<std::string>{} : std::vector<std::string>{"cpu"});
  EXPECT_EQ(onednn.find_first_of("23"), onednn.empty() ? std::string::npos : 0U) << onednn;
  const auto& cuda = document.at("cuda");
  EXPECT_EQ(cuda.at("devices").empty(), cuda.contains("why_none"));
}

/// Takes no byte, as a full disk.
class Full : public std::streambuf {};

TEST(App, CannotRunWhereStandardOutputTakesNothing) {
  const std::vector<std::vector<std::string>> lines = {
      {"info"},
      {"info", "--json"},
      {"explain", "--m", "64", "--n", "64", "--counts", "3"},
      {"run", "--m", "64", "--n", "64", "--counts", "3", "--backend", "reference", "--json"},
      {"--version"},
      {"run", "--help"}};
  for (const std::vector<std::string>& line : lines) {
    Full full;
    std::ostream out(&full);
    std::ostringstream err;
    EXPECT_EQ(run_app(line, out, err), kCannotRun) << line.front();
    EXPECT_EQ(err.str(), "wgrad: standard output cannot be written to its end\n") << line.front();
  }
}

TEST(App, HelpAndVersionGoToStandardOutput) {
  EXPECT_EQ(ran("--version").out.rfind("wgrad ", 0), 0U);
  EXPECT_NE(ran("run --help").out.find("--accumulate"), std::string::npos);
  EXPECT_EQ(ran("run --help").code, kOk);
}

}  // namespace
}  // namespace wgrad::cli
