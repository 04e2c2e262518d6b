#include "core/digest.hpp"

#include <gtest/gtest.h>

namespace wgrad::core {
namespace {

// FIPS 180-4 example vectors.
TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheMessageIsCut) {
  std::string message;
  for (int i = 0; i < 300; ++i) message += static_cast<char>(i * 7);
  for (std::size_t cut = 0; cut <= message.size(); ++cut) {
    Sha256 digest;
    digest.update(std::string_view(message).substr(0, cut));
    digest.update(std::string_view(message).substr(cut));
    ASSERT_EQ(digest.hex(), sha256_hex(message)) << "cut at " << cut;
  }
}

TEST(Sha256, FieldsDoNotMerge) {
  EXPECT_NE(Sha256().field("ab").field("c").hex(), Sha256().field("a").field("bc").hex());
  EXPECT_NE(Sha256().field("").field("a").hex(), Sha256().field("a").field("").hex());
}

}  // namespace
}  // namespace wgrad::core
