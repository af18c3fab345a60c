#include "models/tokenizer/pre_tokenizer_stages.h"

#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/pattern.h"
#include "models/tokenizer/utf8.h"

#include <functional>

namespace sluice {
namespace {

using Kind = StagePlan::Kind;

/// Finds matches in a piece of text.
using Finder = std::function<Status(std::string_view, std::vector<TextSpan>&)>;

/// Cuts every piece at what the finder finds.
class SplitStage final : public PreTokenizerStage {
 public:
  SplitStage(Finder find, SplitBehavior behavior, bool invert)
      : find_(std::move(find)), behavior_(behavior), invert_(invert) {}

  Status apply(Pieces& pieces) const override {
    std::vector<Pieces::Piece> cut;
    std::vector<TextSpan> matches;
    std::vector<TextSpan> parts;
    for (const Pieces::Piece& piece : pieces.pieces) {
      matches.clear();
      parts.clear();
      RETURN_IF_ERROR(find_(pieces.of(piece), matches));
      split(piece.end - piece.begin, matches, behavior_, invert_, parts);
      for (const TextSpan& part : parts) {
        cut.push_back(
            {piece.begin + part.begin, piece.begin + part.end, piece.at_start && part.begin == 0});
      }
    }
    pieces.pieces = std::move(cut);
    return {};
  }

 private:
  Finder find_;
  SplitBehavior behavior_;
  bool invert_;
};

/// Rewrites every piece.
class RewriteStage final : public PreTokenizerStage {
 public:
  using Rewrite = std::function<void(std::string_view, bool at_start, std::string& out)>;
  explicit RewriteStage(Rewrite rewrite) : rewrite_(std::move(rewrite)) {}

  Status apply(Pieces& pieces) const override {
    std::string text;
    text.reserve(pieces.text.size() + pieces.text.size() / 2);
    for (Pieces::Piece& piece : pieces.pieces) {
      const size_t begin = text.size();
      rewrite_(pieces.of(piece), piece.at_start, text);
      piece.begin = begin;
      piece.end = text.size();
    }
    pieces.text = std::move(text);
    return {};
  }

 private:
  Rewrite rewrite_;
};

std::unique_ptr<PreTokenizerStage> split_by(Finder find, SplitBehavior behavior,
                                            bool invert = false) {
  return std::make_unique<SplitStage>(std::move(find), behavior, invert);
}
std::unique_ptr<PreTokenizerStage> rewrite_by(RewriteStage::Rewrite rewrite) {
  return std::make_unique<RewriteStage>(std::move(rewrite));
}

/// Every character that has one of the flags is a match.
Finder each_character(uint8_t flags) {
  return [flags](std::string_view text, std::vector<TextSpan>& out) -> Status {
    const unicode::Classes& classes = unicode::Classes::get();
    for (size_t i = 0; i < text.size();) {
      const size_t length = utf8::length_of(text[i]);
      if (classes.is(utf8::decode(text.data() + i), flags)) out.push_back({i, i + length});
      i += length;
    }
    return {};
  };
}

Finder by_pattern(Pattern pattern) {
  auto shared = std::make_shared<const Pattern>(std::move(pattern));
  return [shared](std::string_view text, std::vector<TextSpan>& out) {
    return shared->find_all(text, out);
  };
}

Status make_split(const JsonFields& fields, std::vector<StagePlan>& plan) {
  ASSIGN_OR_RETURN(Pattern pattern, Pattern::from_json(fields, "pattern"));
  ASSIGN_OR_RETURN(const SplitBehavior behavior, split_behavior(fields, "behavior"));
  ASSIGN_OR_RETURN(const bool invert, fields.boolean_or("invert", false));
  StagePlan stage;
  const auto known = pattern.is_regex() ? known_pattern(pattern.source()) : std::nullopt;
  // Known patterns match every character, so inverted and removed they come to the same.
  if (known && ((behavior == SplitBehavior::Isolated && !invert) ||
                (behavior == SplitBehavior::Removed && invert))) {
    stage.kind = Kind::KnownPattern;
    stage.pattern = *known;
  }
  stage.stage = split_by(by_pattern(std::move(pattern)), behavior, invert);
  plan.push_back(std::move(stage));
  return {};
}

Status make_digits(const JsonFields& fields, std::vector<StagePlan>& plan) {
  ASSIGN_OR_RETURN(const bool each, fields.boolean_or("individual_digits", false));
  const auto behavior = each ? SplitBehavior::Isolated : SplitBehavior::Contiguous;
  plan.push_back({split_by(each_character(unicode::kNumeric), behavior),
                  each ? Kind::EachDigit : Kind::Other});
  return {};
}

Status make_byte_level(const JsonFields& fields, std::vector<StagePlan>& plan) {
  ASSIGN_OR_RETURN(const bool prefix, fields.boolean_or("add_prefix_space", true));
  ASSIGN_OR_RETURN(const bool use_regex, fields.boolean_or("use_regex", true));
  if (prefix) {
    plan.push_back({rewrite_by([](std::string_view text, bool, std::string& out) {
                      if (!text.starts_with(' ')) out += ' ';
                      out += text;
                    }),
                    Kind::PrefixSpace});
  }
  if (use_regex) {
    ASSIGN_OR_RETURN(Pattern pattern, Pattern::regex(kGpt2Pattern, fields.path()));
    plan.push_back({split_by(by_pattern(std::move(pattern)), SplitBehavior::Isolated),
                    Kind::KnownPattern, KnownSplit::Gpt2});
  }
  plan.push_back({rewrite_by([](std::string_view text, bool, std::string& out) {
                    for (const char c : text) {
                      out += byte_alphabet::of(static_cast<unsigned char>(c));
                    }
                  }),
                  Kind::SpellBytes});
  return {};
}

Status make_metaspace(const JsonFields& fields, std::vector<StagePlan>& plan) {
  ASSIGN_OR_RETURN(const MetaspaceSpec spec, MetaspaceSpec::from_json(fields));
  plan.push_back({rewrite_by([spec](std::string_view text, bool at_start, std::string& out) {
    const bool marked = text.starts_with(' ') || text.starts_with(spec.replacement);
    const bool wanted = spec.prepend == MetaspaceSpec::Prepend::Always ||
                        (spec.prepend == MetaspaceSpec::Prepend::First && at_start);
    if (wanted && !marked) out += spec.replacement;
    for (const char c : text) {
      if (c == ' ') {
        out += spec.replacement;
      } else {
        out += c;
      }
    }
  })});
  if (spec.split) {
    plan.push_back(
        {split_by(by_pattern(Pattern::literal(spec.replacement)), SplitBehavior::MergedWithNext)});
  }
  return {};
}

Status make_whitespace(const JsonFields& /*fields*/, std::vector<StagePlan>& plan) {
  // \w+|[^\w\s]+ and only the matches stay.
  plan.push_back({split_by(
      [](std::string_view text, std::vector<TextSpan>& out) -> Status {
        const auto kind_of = [&](size_t i) {
          const uint8_t flags = unicode::flags_at(text.data() + i);
          return (flags & unicode::kWord) != 0 ? 1 : (flags & unicode::kSpace) != 0 ? 0 : 2;
        };
        for (size_t i = 0; i < text.size();) {
          const size_t begin = i;
          const int kind = kind_of(i);
          while (i < text.size() && kind_of(i) == kind) i += utf8::length_of(text[i]);
          if (kind != 0) out.push_back({begin, i});
        }
        return {};
      },
      SplitBehavior::Removed, true)});
  return {};
}

Status make_whitespace_split(const JsonFields& /*fields*/, std::vector<StagePlan>& plan) {
  plan.push_back({split_by(each_character(unicode::kSpace), SplitBehavior::Removed)});
  return {};
}

Status make_punctuation(const JsonFields& fields, std::vector<StagePlan>& plan) {
  SplitBehavior behavior = SplitBehavior::Isolated;
  if (fields.find("behavior")) {
    ASSIGN_OR_RETURN(behavior, split_behavior(fields, "behavior"));
  }
  plan.push_back({split_by(each_character(unicode::kPunctuation), behavior)});
  return {};
}

Status make_bert(const JsonFields& /*fields*/, std::vector<StagePlan>& plan) {
  plan.push_back({split_by(each_character(unicode::kSpace), SplitBehavior::Removed)});
  plan.push_back({split_by(each_character(unicode::kPunctuation), SplitBehavior::Isolated)});
  return {};
}

Status make_delimiter(const JsonFields& fields, std::vector<StagePlan>& plan) {
  ASSIGN_OR_RETURN(std::string delimiter, fields.text("delimiter"));
  if (delimiter.empty() || utf8::length_of(delimiter[0]) != delimiter.size()) {
    return fields.wrong("delimiter", "is not one character");
  }
  plan.push_back(
      {split_by(by_pattern(Pattern::literal(std::move(delimiter))), SplitBehavior::Removed)});
  return {};
}

}  // namespace

Result<MetaspaceSpec> MetaspaceSpec::from_json(const JsonFields& fields) {
  MetaspaceSpec spec;
  ASSIGN_OR_RETURN(spec.replacement, fields.text("replacement"));
  if (spec.replacement.empty() || utf8::length_of(spec.replacement[0]) != spec.replacement.size()) {
    return fields.wrong("replacement", "is not one character");
  }
  ASSIGN_OR_RETURN(const std::string scheme, fields.text_or("prepend_scheme", "always"));
  if (scheme == "first") {
    spec.prepend = Prepend::First;
  } else if (scheme == "never") {
    spec.prepend = Prepend::Never;
  } else if (scheme != "always") {
    return fields.wrong("prepend_scheme",
                        fmt::format("unknown {}; known: first, always, never", quoted(scheme)));
  }
  // How files were written before there were schemes.
  ASSIGN_OR_RETURN(const bool prefix, fields.boolean_or("add_prefix_space", true));
  if (!prefix) {
    if (fields.find("prepend_scheme") && spec.prepend != Prepend::Never) {
      return fields.wrong("add_prefix_space", "contradicts prepend_scheme");
    }
    spec.prepend = Prepend::Never;
  }
  ASSIGN_OR_RETURN(spec.split, fields.boolean_or("split", true));
  return spec;
}

const std::vector<std::pair<std::string_view, MakeStages>>& pre_tokenizer_types() {
  static const std::vector<std::pair<std::string_view, MakeStages>> types = {
      {"ByteLevel", make_byte_level},
      {"Split", make_split},
      {"Digits", make_digits},
      {"Metaspace", make_metaspace},
      {"Whitespace", make_whitespace},
      {"WhitespaceSplit", make_whitespace_split},
      {"Punctuation", make_punctuation},
      {"BertPreTokenizer", make_bert},
      {"CharDelimiterSplit", make_delimiter},
  };
  return types;
}

}  // namespace sluice
