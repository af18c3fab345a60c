#include "envs/text/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;
using Kind = Expression::Kind;

// As prefix notation: "(+ 1 (* 2 x))".
std::string shown(const Expression& e, int at) {
  const auto& node = e.nodes[static_cast<size_t>(at)];
  switch (node.kind) {
    case Kind::Number:
    case Kind::Symbol:
      return node.text;
    case Kind::Negate:
      return fmt::format("(- {})", shown(e, node.left));
    case Kind::Call:
      return fmt::format("({} {})", node.text, shown(e, node.left));
    default:
      break;
  }
  const char* sign = node.kind == Kind::Add        ? "+"
                     : node.kind == Kind::Multiply ? "*"
                     : node.kind == Kind::Divide   ? "/"
                                                   : "^";
  return fmt::format("({} {} {})", sign, shown(e, node.left), shown(e, node.right));
}

std::string shown(std::string_view text) {
  const auto e = parse_expression(text);
  if (!e.ok()) return e.status().message();
  return shown(*e, static_cast<int>(e->nodes.size()) - 1);
}

TEST(ParseExpression, KnowsBindingAndSides) {
  EXPECT_EQ(shown("1+2*x"), "(+ 1 (* 2 x))");
  EXPECT_EQ(shown("1-2-3"), "(+ (+ 1 (- 2)) (- 3))");
  EXPECT_EQ(shown("8/4/2"), "(/ (/ 8 4) 2)");
  EXPECT_EQ(shown("2^3^2"), "(^ 2 (^ 3 2))");
  EXPECT_EQ(shown("-x^2"), "(- (^ x 2))");
  EXPECT_EQ(shown("2**-3"), "(^ 2 (- 3))");
  EXPECT_EQ(shown("2*-3"), "(* 2 (- 3))");
  EXPECT_EQ(shown("2x(x+1)y"), "(* (* (* 2 x) (+ x 1)) y)");
  EXPECT_EQ(shown("xy^2"), "(* x (^ y 2))");
}

TEST(ParseExpression, ReadsLatex) {
  EXPECT_EQ(shown(R"(\frac{1}{2})"), "(/ 1 2)");
  EXPECT_EQ(shown(R"(\dfrac12x)"), "(* (/ 1 2) x)");
  EXPECT_EQ(shown(R"(\sqrt{2}\cdot\sqrt[3]{x})"), "(* (sqrt 2) (^ x (/ 1 3)))");
  EXPECT_EQ(shown(R"($2\pi r$)"), "(* (* 2 pi) r)");
  EXPECT_EQ(shown(R"(\sin^2 x + \cos(2x))"), "(+ (^ (sin x) 2) (cos (* 2 x)))");
  EXPECT_EQ(shown(R"(\left( 3 + 4 \right) \text{ miles})"), "(+ 3 4)");
  EXPECT_EQ(shown(R"(90^\circ)"), "90");
  EXPECT_EQ(shown(R"(90^{\circ})"), "90");
  EXPECT_EQ(shown(R"(50\%)"), "50");
  EXPECT_EQ(shown("2\xC3\x97"
                  "3 \xE2\x88\x92 \xE2\x88\x9A(4)"),
            "(+ (* 2 3) (- (sqrt 4)))");
  EXPECT_EQ(shown("|x-1|"), "(abs (+ x (- 1)))");
  EXPECT_EQ(shown("1,234.50"), "1234.50");
  EXPECT_EQ(shown("arcsin(x)ln x"), "(* (asin x) (ln x))");
}

TEST(ParseExpression, SaysWhatItDoesNotUnderstand) {
  EXPECT_THAT(shown("2 3"), HasSubstr("did not expect '3' here"));
  EXPECT_THAT(shown("(1+2"), HasSubstr("')' is missing before 'the end'"));
  EXPECT_THAT(shown("1+"), HasSubstr("ends too early"));
  EXPECT_THAT(shown(""), HasSubstr("ends too early"));
  EXPECT_THAT(shown("x = 5"), HasSubstr("'=' belongs to no formula"));
  EXPECT_THAT(shown(R"(\alpa)"), HasSubstr("unknown command '\\alpa'"));
  EXPECT_THAT(shown("\\"), HasSubstr("ends in"));
  EXPECT_THAT(shown(")"), HasSubstr("did not expect ')' here"));
}

TEST(ParseExpression, IsBoundedInLengthDepthAndParts) {
  for (const std::string& text :
       {std::string(2000, '1'), std::string(500, '('), std::string(300, 'x')}) {
    EXPECT_EQ(parse_expression(text).status().code(), Code::ResourceExhausted) << text;
  }
  EXPECT_TRUE(parse_expression(std::string(900, '-') + "x").ok());
  std::string tower;
  for (int i = 0; i < 100; ++i) tower += "2^";
  EXPECT_FALSE(parse_expression(tower + "2").ok());
}

}  // namespace
}  // namespace sluice
