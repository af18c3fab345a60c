"""Drives a server with the `openai` client: openai_client.py BASE_URL KEY. Exits 1 at a fault."""
import json
import sys

import openai

base, key = sys.argv[1:]
client = openai.OpenAI(base_url=base, api_key=key, max_retries=0)
model = client.models.list().data[0].id
messages = [{"role": "system", "content": "on the mat"}, {"role": "user", "content": "the cat"}]


def refused(error, call):
    try:
        call()
    except error as e:
        assert e.body and e.body["message"], e
        return
    raise AssertionError(f"no {error.__name__}")


whole = client.completions.create(model=model, prompt="the cat", max_tokens=12, temperature=0)
assert whole.object == "text_completion" and whole.choices[0].finish_reason in ("length", "stop")
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
stream = client.completions.create(model=model, prompt="the cat", max_tokens=12, temperature=0,
                                   stream=True)
assert "".join(chunk.choices[0].text for chunk in stream) == whole.choices[0].text

chat = client.chat.completions.create(model=model, messages=messages, max_tokens=12, n=2, seed=3,
                                      temperature=1.0, logprobs=True, top_logprobs=2)
assert len(chat.choices) == 2 and chat.choices[0].message.role == "assistant"
for choice in chat.choices:
    assert all(len(t.top_logprobs) == 2 and t.logprob <= 0 for t in choice.logprobs.content)
texts, usage = ["", ""], None
for chunk in client.chat.completions.create(model=model, messages=messages, max_tokens=12, n=2,
                                            seed=3, temperature=1.0, stream=True,
                                            stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        texts[choice.index] += choice.delta.content or ""
assert texts == [choice.message.content for choice in chat.choices], (texts, chat)
assert usage.completion_tokens == chat.usage.completion_tokens

extra = client.completions.create(model=model, prompt=[40, 41], max_tokens=5,
                                  extra_body={"ignore_eos": True, "top_k": 1, "min_tokens": 5})
assert extra.usage.completion_tokens == 5
with client.chat.completions.create(model=model, messages=messages, max_tokens=3000, stream=True,
                                    extra_body={"ignore_eos": True}) as long:
    next(iter(long))

schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
          "additionalProperties": False}
shaped = client.chat.completions.create(
    model=model, messages=messages, max_tokens=60, temperature=1.0, seed=1,
    response_format={"type": "json_schema",
                     "json_schema": {"name": "answer", "strict": True, "schema": schema}})
assert shaped.choices[0].finish_reason == "stop"
assert isinstance(json.loads(shaped.choices[0].message.content)["ok"], bool)

refused(openai.BadRequestError, lambda: client.completions.create(model=model, prompt=""))
refused(openai.BadRequestError,
        lambda: client.completions.create(model=model, prompt="a", n=0))
refused(openai.NotFoundError, lambda: client.completions.create(model="other", prompt="a"))
refused(openai.AuthenticationError,
        lambda: openai.OpenAI(base_url=base, api_key="wrong", max_retries=0).models.list())
