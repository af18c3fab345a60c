// Stands in for libFuzzer where the compiler has none: replays a corpus, then seeded mutations of
// it.
//   PROGRAM RUNS FOLDER
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void one(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

/// Changes, drops, repeats, swaps in, or cuts off bytes.
std::string mutated(const std::vector<std::string>& corpus, std::mt19937_64& random) {
  std::string out = corpus[random() % corpus.size()];
  const auto steps = 1 + random() % 4;
  for (uint64_t step = 0; step < steps; ++step) {
    if (out.empty()) out.push_back('\0');
    const size_t at = random() % out.size();
    const size_t length = 1 + random() % std::min<size_t>(16, out.size() - at);
    switch (random() % 6) {
      case 0:
        out[at] = static_cast<char>(random());
        break;
      case 1:
        out[at] = static_cast<char>(out[at] ^ (1 << random() % 8));
        break;
      case 2:
        out.erase(at, length);
        break;
      case 3:
        out.insert(at, out.substr(at, length));
        break;
      case 4: {
        const std::string& other = corpus[random() % corpus.size()];
        if (!other.empty()) out.replace(at, length, other.substr(random() % other.size(), length));
        break;
      }
      default:
        out.resize(at);
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s RUNS FOLDER\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(argv[2]))
    paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    one(corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus in %s\n", argv[0], argv[2]);
    return 1;
  }
  std::mt19937_64 random(1);
  const long runs = std::atol(argv[1]);
  for (long i = 0; i < runs; ++i) one(mutated(corpus, random));
  std::printf("%zu files and %ld mutations\n", corpus.size(), runs);
  return 0;
}
