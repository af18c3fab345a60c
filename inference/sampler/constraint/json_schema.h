#pragma once
#include "inference/sampler/constraint/byte_nfa.h"
#include "models/tokenizer/json_doc.h"

namespace sluice {

/// Adds the JSON texts that a schema (draft 2020-12) allows; returns where they end.
///
/// Supported: type (one or several), properties, required, additionalProperties, items, minItems,
/// maxItems, minLength, maxLength, pattern, minimum, maximum, exclusiveMinimum and
/// exclusiveMaximum of integers, enum, const, anyOf, allOf of one, $ref to a definition of the
/// schema, true, {}. Annotations say nothing. Anything else is InvalidArgument that names the
/// keyword and where it stands, and so are definitions that contain themselves.
///
/// Every text satisfies the schema; not every text that does can be written. Properties come in the
/// order of the schema, those of additionalProperties (unless it is true and there are no others)
/// do not come. One space may follow a comma and a colon, there is no other white space. Numbers
/// have at most 18 digits before the point, 17 after it and an exponent of two digits; strings
/// with a pattern escape only what must be. Values without a schema nest up to kFreeDepth.
struct JsonSchemaLimits {
  static constexpr int kMaxDepth = 32;
  static constexpr int kFreeDepth = 3;
};

Result<ByteNfa::State> add_json_schema(ByteNfa& nfa, ByteNfa::State from, const JsonDoc& schema);

}  // namespace sluice
