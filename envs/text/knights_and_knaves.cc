#include "envs/text/knights_and_knaves.h"

#include "envs/text/answer.h"

#include <bit>
#include <optional>

namespace sluice {
namespace {

constexpr const char* kNames[] = {"Ava",  "Ben",  "Clara", "Dylan", "Emma", "Felix",
                                  "Gina", "Hugo", "Iris",  "Jack",  "Kira", "Liam"};

enum class Claim : uint8_t { IsKnight, IsKnave, BothKnights, AnyKnave, SameKind, IfThen };

// What one person says about two others (the second only where the claim has one).
struct Statement {
  Claim claim;
  int64_t a;
  int64_t b;
};

bool holds(const Statement& s, uint32_t knights) {
  const bool a = (knights >> s.a & 1) != 0;
  const bool b = (knights >> s.b & 1) != 0;
  switch (s.claim) {
    case Claim::IsKnight:
      return a;
    case Claim::IsKnave:
      return !a;
    case Claim::BothKnights:
      return a && b;
    case Claim::AnyKnave:
      return !a || !b;
    case Claim::SameKind:
      return a == b;
    case Claim::IfThen:
      return !a || b;
  }
  return false;
}

std::string spoken(const Statement& s, const std::vector<std::string>& names) {
  const std::string& a = names[static_cast<size_t>(s.a)];
  const std::string& b = names[static_cast<size_t>(s.b)];
  switch (s.claim) {
    case Claim::IsKnight:
      return fmt::format("{} is a knight", a);
    case Claim::IsKnave:
      return fmt::format("{} is a knave", a);
    case Claim::BothKnights:
      return fmt::format("{} and {} are both knights", a, b);
    case Claim::AnyKnave:
      return fmt::format("at least one of {} and {} is a knave", a, b);
    case Claim::SameKind:
      return fmt::format("{} and {} are of the same kind", a, b);
    case Claim::IfThen:
      return fmt::format("if {} is a knight then {} is a knight", a, b);
  }
  return {};
}

// The only set of knights that fits what all say; nothing when none or several do.
std::optional<uint32_t> only_solution(const std::vector<Statement>& statements) {
  std::optional<uint32_t> found;
  for (uint32_t knights = 0; knights < uint32_t{1} << statements.size(); ++knights) {
    bool fits = true;
    for (size_t i = 0; i < statements.size() && fits; ++i) {
      fits = holds(statements[i], knights) == ((knights >> i & 1) != 0);
    }
    if (!fits) continue;
    if (found) return std::nullopt;
    found = knights;
  }
  return found;
}

std::vector<Statement> draw_statements(Draws& draws, int64_t people) {
  std::vector<Statement> out;
  for (int64_t i = 0; i < people; ++i) {
    const auto other = [&draws, people](int64_t than) {
      return (than + draws.between(1, people - 1)) % people;
    };
    const int64_t a = other(i);
    out.push_back({static_cast<Claim>(draws.below(6)), a, other(a)});
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool is_word_at(std::string_view text, size_t at, size_t length) {
  const auto letter = [text](size_t i) {
    return i < text.size() && text[i] >= 'a' && text[i] <= 'z';
  };
  return (at == 0 || !letter(at - 1)) && !letter(at + length);
}

size_t find_word(std::string_view text, std::string_view word, size_t from) {
  size_t at = text.find(word, from);
  while (at != std::string_view::npos && !is_word_at(text, at, word.size())) {
    at = text.find(word, at + 1);
  }
  return at;
}

// What the text says last about a person: true for a knight.
std::optional<bool> said_of(std::string_view text, std::string_view name) {
  std::optional<bool> kind;
  for (size_t at = find_word(text, name, 0); at != std::string_view::npos;
       at = find_word(text, name, at + 1)) {
    // Up to the end of the clause.
    const std::string_view rest =
        text.substr(at, std::min<size_t>(text.find_first_of(",.;\n", at), text.size()) - at);
    const size_t knight = find_word(rest, "knight", 0);
    const size_t knave = find_word(rest, "knave", 0);
    if (knight != knave) kind = knight < knave;
  }
  return kind;
}

}  // namespace

TextProblem KnightsAndKnavesTask::draw(Draws& draws) const {
  const int64_t people = 1 + difficulty();
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  draws.shuffle(names);
  names.resize(static_cast<size_t>(people));
  std::vector<Statement> statements;
  std::optional<uint32_t> knights;
  while (!knights) {
    statements = draw_statements(draws, people);
    knights = only_solution(statements);
  }
  std::string text =
      "Everyone on an island is either a knight, who always tells the truth, or a knave, who "
      "always "
      "lies.";
  std::vector<std::string> kinds;
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format(" {} says: \"{}.\"", names[i], spoken(statements[i], names));
    kinds.push_back(fmt::format("{}: {}", names[i], (*knights >> i & 1) != 0 ? "knight" : "knave"));
  }
  text +=
      " Who is what? Write everyone's kind in <answer></answer> tags, for example <answer>Max: "
      "knight, Eve: knave</answer>.";
  return asked(std::move(text), fmt::format("{}", fmt::join(kinds, ", ")));
}

TextScore KnightsAndKnavesTask::score(const TextProblem& problem, std::string_view response) const {
  const std::string given = lower(tagged_answer(response).value_or(std::string(response)));
  const std::string wanted = lower(problem.answer);
  std::string_view rest = wanted;
  if (rest.find(':') == std::string_view::npos) return failed_score("the problem has no answer");
  bool right = true;
  while (right) {
    const size_t comma = rest.find(',');
    const std::string_view one = trimmed(rest.substr(0, comma));
    right = said_of(given, one.substr(0, one.find(':'))) == one.ends_with("knight");
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return right_or_wrong(right);
}

}  // namespace sluice
