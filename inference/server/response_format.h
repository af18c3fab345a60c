#pragma once
#include "inference/sampler/constraint/constraint_cache.h"
#include "inference/server/body_fields.h"

#include <memory>
#include <string_view>

namespace sluice {

/// What a body asks of the answer's text: OpenAI's "response_format" (text, json_object,
/// json_schema), or vLLM's "structured_outputs" (json, json_object, regex, choice) and their older
/// names guided_json, guided_regex and guided_choice. A schema is enforced whether or not it is
/// "strict". Null: nothing. InvalidArgument names the field, and what is wrong with a schema and
/// where. `body` is the text of the body: a schema's properties come in the order it gives them.
Result<std::shared_ptr<const Constraint>> read_response_format(BodyFields& fields,
                                                               std::string_view body,
                                                               ConstraintCache& cache);

}  // namespace sluice
