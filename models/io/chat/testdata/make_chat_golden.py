"""Writes chat_golden.json: what transformers renders for every template here and a table of
conversations; continued_golden.json: the same where the last message is to be continued; and
snippet_golden.json: what its Jinja environment gives for the snippets in
snippets.py.

    python models/io/chat/testdata/make_chat_golden.py   (transformers 5.24, jinja2 3.1.6)

The templates are inputs of tests. smollm2.jinja is the one in the metadata of the packaged
SmolLM2-135M-Instruct GGUF. The others are written down from knowledge of the model families, not
copied from their repositories: they have the constructs of the originals, and small differences in
wording are possible; most of all in smollm3.jinja (without its Python tools), llama-3.x and
deepseek-r1-distill. chatml-generation.jinja is our own.
"""
import copy
import datetime
import json
import os

from transformers.utils import chat_template_utils as utils

import snippets

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = datetime.datetime(2024, 7, 26, 9, 5, 3)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city — now, in °C",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "e.g. \"Zürich\""},
        "days": {"type": "integer", "minimum": 1, "default": 3}}, "required": ["city"]}}}
CLOCK = {"type": "function", "function": {
    "name": "clock", "description": "The time", "parameters": {"type": "object", "properties": {}}}}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments, call_id):
    return {"type": "function", "id": call_id, "function": {"name": name, "arguments": arguments}}


SYSTEM = {"role": "system", "content": "You are terse. /no_think"}
CONVERSATIONS = {
    "user": [user("Hi there")],
    "system": [{"role": "system", "content": "You are a pirate.\n"}, user("  Who are you? ")],
    "turns": [user("1+1?"), assistant("2"), user("and 2+2?"), assistant("4"), user("thanks")],
    "system_turns": [SYSTEM, user("a"), assistant("b"), user("c")],
    "unicode": [user("Grüße 😀 \"quotes\" 'single' \\ back\tslash <b>&amp;</b> 你好\u2028\x07"),
                assistant("¡Olé!\r\nnaïve\u00a0"), user("e\u0301 \U0001f468\u200d\U0001f469")],
    "ends_with_assistant": [user("say x"), assistant("x\n\n")],
    "tool_call": [user("Weather in Zürich?"),
                  {"role": "assistant", "content": None, "tool_calls": [
                      call("get_weather", {"city": "Zürich", "days": 2, "x": [1, 2.5, None, True]},
                           "abcdefghi")]},
                  {"role": "tool", "content": "{\"t\": 21.5}", "tool_call_id": "abcdefghi",
                   "name": "get_weather"},
                  assistant("21.5 °C"), user("Thanks")],
    "parallel_tools": [SYSTEM, user("Two things"),
                       {"role": "assistant", "content": "Let me look.", "tool_calls": [
                           call("get_weather", {"city": "Rome"}, "aaaaaaaaa"),
                           call("clock", {}, "bbbbbbbbb")]},
                       {"role": "tool", "content": "rain", "tool_call_id": "aaaaaaaaa"},
                       {"role": "tool", "content": "12:00", "tool_call_id": "bbbbbbbbb"}],
    "thinking": [user("7*6?"), assistant("<think>\nseven sixes\n</think>\n\n42"), user("sure?"),
                 assistant("<think>check</think>yes")],
    "reasoning": [user("q"), assistant("answer", reasoning_content="because\n"), user("more"),
                  assistant("final", thinking="as before")],
    "string_arguments": [user("go"), assistant("", tool_calls=[
        call("clock", "{\"a\": 1}", "123456789")])],
    "no_role": [user("a"), {"content": "who speaks?"}],
    "two_users": [user("a"), user("b")],
    "assistant_first": [assistant("hello"), user("a")],
    "no_content": [{"role": "user"}],
    "parts": [user([{"type": "text", "text": "part"}])],
    "empty": [],
}
TOOL_CONVERSATIONS = ("user", "system", "tool_call", "parallel_tools")
THINKERS = ("qwen3", "smollm3")


class FixedDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


def byte_spans(text, spans):
    return [[len(text[:a].encode()), len(text[:b].encode())] for a, b in spans]


def render_continued(template, messages):
    try:
        texts, _ = utils.render_jinja_template(
            [copy.deepcopy(utils._normalize_chat_messages(messages))], chat_template=template,
            continue_final_message=True, **TOKENS)
    except Exception as problem:  # pylint: disable=broad-except
        return {"error": f"{type(problem).__name__}: {problem}"[:120]}
    return {"text": texts[0]}


def continued_cases():
    parts = [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]
    endings = {"plain": "The answer is", "spaces": "  so: \n", "empty": "", "unicode": "¡Olé ",
               "twice": "user", "thinking": "<think>\nwell</think>\n\n4", "parts": parts,
               "none": None}
    names = sorted(name[:-6] for name in os.listdir(os.path.join(HERE, "templates")))
    for name in names:
        with open(os.path.join(HERE, "templates", name + ".jinja"), encoding="utf-8") as file:
            template = file.read()
        for ending in endings.values():
            messages = [user("q"), {"role": "assistant", "content": ending}]
            yield {"template": name, "messages": messages, **render_continued(template, messages)}


def render(template, messages, tools, add_generation_prompt, variables):
    try:
        texts, spans = utils.render_jinja_template(
            [utils._normalize_chat_messages(messages)], tools=tools, chat_template=template,
            return_assistant_tokens_mask=True, add_generation_prompt=add_generation_prompt,
            **{**TOKENS, **variables})
    except Exception as problem:  # pylint: disable=broad-except
        return {"error": f"{type(problem).__name__}: {problem}"[:120]}
    out = {"text": texts[0]}
    if spans[0]:
        out["spans"] = byte_spans(texts[0], spans[0])
    return out


def chat_cases():
    names = sorted(name[:-6] for name in os.listdir(os.path.join(HERE, "templates")))
    for name in names:
        with open(os.path.join(HERE, "templates", name + ".jinja"), encoding="utf-8") as file:
            template = file.read()
        for number, (label, messages) in enumerate(CONVERSATIONS.items()):
            variants = [(None, number % 2 == 0 or label == "system_turns", {})]
            if label in TOOL_CONVERSATIONS:
                variants.append(([WEATHER, CLOCK], True, {}))
            if name in THINKERS and label in ("user", "thinking", "reasoning"):
                variants.append((None, True, {"enable_thinking": False}))
                variants.append((None, False, {"enable_thinking": True}))
            if name.startswith("llama-3.") and label == "tool_call":
                variants.append(([WEATHER], False, {"tools_in_user_message": False,
                                                    "date_string": "1 Jan 2025"}))
                variants.append((None, True, {"builtin_tools": ["get_weather", "code_interpreter"]}))
            for tools, prompt, variables in variants:
                case = {"template": name, "conversation": label, "prompt": prompt}
                if tools:
                    case["tools"] = tools
                if variables:
                    case["variables"] = variables
                yield {**case, **render(template, messages, tools, prompt, variables)}


def snippet_cases():
    for source in snippets.all_snippets():
        yield {"source": source, **render(source, [], None, False, snippets.DATA)}


def write(name, value):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=0, separators=(",", ":"))
        file.write("\n")


def main():
    utils.datetime = FixedDatetime
    write("chat_golden.json", {"conversations": CONVERSATIONS, "tokens": TOKENS,
                               "cases": list(chat_cases())})
    write("continued_golden.json", {"tokens": TOKENS, "cases": list(continued_cases())})
    write("snippet_golden.json", {"variables": snippets.DATA, "tokens": TOKENS,
                                  "cases": list(snippet_cases())})


if __name__ == "__main__":
    main()
