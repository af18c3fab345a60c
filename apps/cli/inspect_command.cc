#include "apps/cli/commands.h"
#include "models/io/checkpoint.h"
#include "models/io/model_cache.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

namespace sluice {
namespace {

using nlohmann::json;

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string size_text(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit < 4) bytes /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

int64_t elements_of(const CheckpointTensor& tensor) {
  int64_t out = 1;
  for (const int64_t size : tensor.shape) out *= size;
  return out;
}

/// The tokenizer in a few words; null without one.
Result<json> tokenizer_summary(const Checkpoint& model) {
  const auto tokenizer = model.tokenizer_json();
  if (!tokenizer.ok() && tokenizer.status().code() == Code::NotFound) return json(nullptr);
  if (!tokenizer.ok()) return tokenizer.status();
  const auto of = [&](const char* part, const char* key) -> json {
    const auto at = tokenizer->find(part);
    if (at == tokenizer->end() || !at->is_object() || !at->contains(key)) return nullptr;
    return (*at)[key];
  };
  ASSIGN_OR_RETURN(const json config, model.tokenizer_config());
  json out{{"model", of("model", "type")},
           {"pre_tokenizer", of("pre_tokenizer", "type")},
           {"vocabulary", of("model", "vocab").size()},
           {"merges", of("model", "merges").size()},
           {"chat_template", config.contains("chat_template")}};
  const auto added = tokenizer->find("added_tokens");
  out["added_tokens"] = added == tokenizer->end() ? 0 : added->size();
  return out;
}

Result<json> inspect(const std::string& name) {
  ASSIGN_OR_RETURN(const std::string path, resolve_model(name));
  ASSIGN_OR_RETURN(const auto model, Checkpoint::open(path));
  json out{{"path", path}, {"format", model->format()}, {"config", model->config()}};
  json tensors = json::array();
  std::map<std::string, uint64_t> bytes;
  int64_t parameters = 0;
  uint64_t total = 0;
  for (const auto& tensor : model->tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", std::string(sluice::name(tensor.type))},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes}});
    parameters += elements_of(tensor);
    bytes[std::string(sluice::name(tensor.type))] += tensor.bytes;
    total += tensor.bytes;
  }
  out["parameters"] = parameters;
  out["bytes"] = total;
  out["bytes_by_dtype"] = bytes;
  out["tensors"] = std::move(tensors);
  ASSIGN_OR_RETURN(out["tokenizer"], tokenizer_summary(*model));
  return out;
}

/// What a file says, without what would move the cursor of a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

std::string architecture_text(const json& config) {
  const auto list = config.find("architectures");
  if (list == config.end() || !list->is_array() || list->empty() || !(*list)[0].is_string()) {
    return "unknown";
  }
  return printable((*list)[0].get<std::string>());
}

/// One row per kind of tensor: layers are folded, as "model.layers.{0-29}.mlp.up_proj.weight".
struct Row {
  std::string name;
  std::string dtype;
  std::string shape;
  int64_t first = -1;
  int64_t last = -1;
  uint64_t bytes = 0;
  int64_t count = 0;
};

std::vector<Row> folded(const json& tensors) {
  std::vector<Row> rows;
  std::map<std::string, size_t> places;
  for (const auto& tensor : tensors) {
    std::string full = printable(tensor["name"].get<std::string>());
    int64_t layer = -1;
    for (const char* mark : {".layers.", ".h."}) {
      const size_t at = full.find(mark);
      if (at == std::string::npos) continue;
      const size_t begin = at + std::string_view(mark).size();
      const size_t end = full.find('.', begin);
      if (end == std::string::npos || end - begin > 9) continue;
      layer = std::atoll(full.c_str() + begin);
      full.replace(begin, end - begin, "*");
      break;
    }
    const auto dtype = tensor["dtype"].get<std::string>();
    const auto shape = shape_text(tensor["shape"].get<std::vector<int64_t>>());
    const auto [place, fresh] = places.emplace(full + "\n" + dtype + shape, rows.size());
    if (fresh) rows.push_back({full, dtype, shape, layer, layer, 0, 0});
    Row* row = &rows[place->second];
    row->first = std::min(row->first, layer);
    row->last = std::max(row->last, layer);
    row->bytes += tensor["bytes"].get<uint64_t>();
    ++row->count;
  }
  return rows;
}

void print_tokenizer(const json& tokenizer) {
  if (tokenizer.is_null()) {
    std::puts("tokenizer     none");
    return;
  }
  const auto text = [&](const char* key) {
    return tokenizer[key].is_string() ? printable(tokenizer[key].get<std::string>())
                                      : std::string("none");
  };
  std::fputs(fmt::format("tokenizer     {}, {} tokens, {} merges, {} added, pre-tokenizer {}\n",
                         text("model"), tokenizer["vocabulary"].get<size_t>(),
                         tokenizer["merges"].get<size_t>(), tokenizer["added_tokens"].get<size_t>(),
                         text("pre_tokenizer"))
                 .c_str(),
             stdout);
  std::printf("chat template %s\n", tokenizer["chat_template"].get<bool>() ? "yes" : "no");
}

void print(const json& found) {
  const auto line = [](const char* what, const std::string& value) {
    std::printf("%-13s %s\n", what, value.c_str());
  };
  line("path", found["path"].get<std::string>());
  line("format", found["format"].get<std::string>());
  line("architecture", architecture_text(found["config"]));
  line("parameters", fmt::format("{:.1f} million in {} tensors",
                                 static_cast<double>(found["parameters"].get<int64_t>()) / 1e6,
                                 found["tensors"].size()));
  std::string types;
  for (const auto& [type, bytes] : found["bytes_by_dtype"].items()) {
    types +=
        fmt::format("{}{} {}", types.empty() ? "" : ", ", size_text(bytes.get<double>()), type);
  }
  line("weights", types);
  print_tokenizer(found["tokenizer"]);
  const auto rows = folded(found["tensors"]);
  size_t widest = 6;
  size_t shape = 5;
  for (const Row& row : rows) {
    widest = std::max(widest, row.name.size());
    shape = std::max(shape, row.shape.size());
  }
  std::fputs(fmt::format("\n{:<{}}  {:<{}}  {:<8}  {:<9}  {}\n", "tensor", widest, "shape", shape,
                         "dtype", "layers", "size")
                 .c_str(),
             stdout);
  for (const Row& row : rows) {
    const std::string layers = row.first < 0           ? ""
                               : row.first == row.last ? std::to_string(row.first)
                               : row.count == row.last - row.first + 1
                                   ? fmt::format("{}-{}", row.first, row.last)
                                   : fmt::format("{} of them", row.count);
    std::fputs(fmt::format("{:<{}}  {:<{}}  {:<8}  {:<9}  {}\n", row.name, widest, row.shape, shape,
                           row.dtype, layers, size_text(static_cast<double>(row.bytes)))
                   .c_str(),
               stdout);
  }
}

}  // namespace

void add_inspect_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("inspect", "say what a model is: architecture, tensors, tokenizer");
  struct Options {
    std::string path;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("model", options->path, "folder, .gguf file, or name of a fetched model")
      ->required();
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &exit_code] {
    const auto found = inspect(options->path);
    if (!found.ok()) {
      exit_code = complain(found.status().message(), 1);
      return;
    }
    if (options->json) {
      std::puts(found->dump(2, ' ', false, json::error_handler_t::replace).c_str());
    } else {
      print(*found);
    }
    exit_code = 0;
  });
}

}  // namespace sluice
