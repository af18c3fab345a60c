#include "envs/text/words.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr const char* kWords[] = {
    "apple",   "anchor",  "animal",  "answer",   "arrow",   "autumn",     "balloon", "banana",
    "barrel",  "basket",  "beacon",  "berry",    "blanket", "blossom",    "bottle",  "bridge",
    "butter",  "button",  "cabbage", "candle",   "carpet",  "castle",     "cheese",  "cherry",
    "chicken", "circle",  "cloud",   "coffee",   "copper",  "cotton",     "cousin",  "curtain",
    "dinner",  "dollar",  "donkey",  "dragon",   "eagle",   "elephant",   "engine",  "evening",
    "falcon",  "feather", "finger",  "flower",   "forest",  "garden",     "giraffe", "glacier",
    "grass",   "guitar",  "hammer",  "harbor",   "hollow",  "honey",      "island",  "jacket",
    "jungle",  "kettle",  "kitchen", "ladder",   "lantern", "lemon",      "letter",  "lizard",
    "machine", "mammal",  "market",  "meadow",   "mirror",  "mission",    "mother",  "mountain",
    "needle",  "noodle",  "ocean",   "orange",   "paper",   "pepper",     "pillow",  "planet",
    "pocket",  "puzzle",  "rabbit",  "railroad", "ribbon",  "river",      "rocket",  "saddle",
    "school",  "shadow",  "silver",  "spring",   "station", "strawberry", "summer",  "sunset",
    "temple",  "ticket",  "tomato",  "tunnel",   "turtle",  "umbrella",   "valley",  "velvet",
    "village", "violin",  "walnut",  "whistle",  "window",  "winter",     "wizard",  "yellow"};

}  // namespace

std::string draw_word(Draws& draws) { return draws.pick(kWords); }

std::vector<std::string> draw_words(Draws& draws, int64_t n) {
  std::vector<std::string> out;
  while (static_cast<int64_t>(out.size()) < n) {
    std::string word = draw_word(draws);
    if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(std::move(word));
  }
  return out;
}

}  // namespace sluice
