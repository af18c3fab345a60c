#include "dataflow/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace sluice {
namespace {

std::string fold(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Optimal string alignment distance: edits plus transpositions of neighbours.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> known,
                                 size_t count) {
  const std::string key = fold(wanted);
  std::vector<std::pair<size_t, size_t>> ranked;  // distance, place in `known`
  for (size_t i = 0; i < known.size(); ++i) {
    const std::string other = fold(known[i]);
    size_t d = distance(key, other);
    // A typed prefix or a last part of a dotted key is as good as a near miss.
    if (!key.empty() && (other.starts_with(key) || other.ends_with("." + key)))
      d = std::min<size_t>(d, 1);
    const size_t limit = std::max<size_t>(2, std::max(key.size(), other.size()) / 3);
    if (d <= limit) ranked.emplace_back(d, i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i)
    out.push_back(known[ranked[i].second]);
  return out;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string> known) {
  const auto names = nearest(wanted, known);
  if (names.empty()) return "";
  std::string text = ", did you mean '" + names[0] + "'";
  for (size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 == names.size() ? " or '" : ", '") + names[i] + "'";
  }
  return text + "?";
}

}  // namespace sluice
