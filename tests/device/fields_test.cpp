#include "wgrad/shared/fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/field_text.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::shared {
namespace {

struct Named {
  i32 depth = 1;
  bool wide = false;

  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
    visit(field("depth", &Named::depth, FieldOrigin::kDepth));
    visit(field("wide", &Named::wide, FieldOrigin::kChoice));
  }
};
static_assert(member_count<Named>() == 2 && visits_every_field<Named>());

struct Forgotten {
  i32 depth = 1;
  bool wide = false;

  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
    visit(field("depth", &Forgotten::depth, FieldOrigin::kDepth));
  }
};
static_assert(!visits_every_field<Forgotten>());

struct Twice {
  i32 depth = 1;
  bool wide = false;

  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
    visit(field("depth", &Twice::depth, FieldOrigin::kDepth));
    visit(field("depth", &Twice::depth, FieldOrigin::kDepth));
  }
};
static_assert(!visits_every_field<Twice>());

TEST(Fields, AreComparedByTheirOrigin) {
  const Named x{.depth = 3, .wide = true}, y{.depth = 3, .wide = false};
  EXPECT_TRUE(same_fields(x, y, FieldOrigin::kDepth));
  EXPECT_FALSE(same_fields(x, y, FieldOrigin::kChoice));
  EXPECT_FALSE(same_fields(x, y, FieldOrigin::kDepth, FieldOrigin::kChoice));
}

TEST(Fields, AreAnInitialiserInLinesOfAWidth) {
  EXPECT_EQ(core::field_text(Named{}, "  ", 100), "  .depth = 1, .wide = false");
  EXPECT_EQ(core::field_text(Named{}, "  ", 20), "  .depth = 1,\n  .wide = false");
}

TEST(Fields, OfAConfigComeInTheOrderOfItsMembers) {
  std::vector<std::string> names;
  Config::visit_fields([&](auto f) { names.emplace_back(f.name); });
  EXPECT_EQ(names.size(), member_count<Config>());
  EXPECT_EQ(names.front(), "tile_m");
  EXPECT_EQ(names.back(), "trace");
}

}  // namespace
}  // namespace wgrad::shared
