#pragma once
#include <string_view>

namespace sluice {

/// The page at /: a chat with the served model, in one file without anything from elsewhere.
inline constexpr std::string_view kChatPage = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sluice</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1rem;color:#222}
#log div{white-space:pre-wrap;padding:.5rem .75rem;margin:.5rem 0;border-radius:.5rem}
.user{background:#e8f0fe}.assistant{background:#f3f3f3}.error{background:#fde8e8;color:#900}
form{display:flex;gap:.5rem;position:sticky;bottom:0;background:#fff;padding:.5rem 0}
textarea{flex:1;font:inherit;padding:.4rem}details{color:#666;font-size:.9rem}
label{margin-right:1rem}input{width:5rem}
</style></head><body>
<h1>Sluice</h1><details><summary id="model">model</summary>
<label>temperature <input id="temperature" type="number" step="0.1" min="0" value="0.7"></label>
<label>max tokens <input id="max" type="number" min="1" value="512"></label>
<label>API key <input id="key" type="password"></label>
<label>system <input id="system" style="width:16rem"></label></details>
<div id="log"></div>
<form id="form"><textarea id="text" rows="2" autofocus placeholder="Say something"></textarea>
<button id="send">Send</button><button id="stop" type="button" disabled>Stop</button>
<button id="reset" type="button">New</button></form>
<script>
const $ = id => document.getElementById(id);
let messages = [], running = null, model = '';
const headers = () => Object.assign({'Content-Type': 'application/json'},
  $('key').value ? {Authorization: 'Bearer ' + $('key').value} : {});
const show = (role, text) => {
  const d = document.createElement('div');
  d.className = role; d.textContent = text; $('log').append(d); d.scrollIntoView();
  return d;
};
const load = () => fetch('/v1/models', {headers: headers()}).then(r => r.json()).then(j => {
  if (j.data) { model = j.data[0].id; $('model').textContent = model; }
});
$('key').onchange = load; load();
$('reset').onclick = () => { messages = []; $('log').textContent = ''; };
$('stop').onclick = () => running && running.abort();
$('text').onkeydown = e => {
  if (e.key === 'Enter' && !e.shiftKey) { e.preventDefault(); $('form').requestSubmit(); }
};
$('form').onsubmit = async e => {
  e.preventDefault();
  const text = $('text').value.trim();
  if (!text || running) return;
  $('text').value = ''; show('user', text); messages.push({role: 'user', content: text});
  running = new AbortController(); $('send').disabled = true; $('stop').disabled = false;
  const box = show('assistant', ''); let answer = '';
  const system = $('system').value ? [{role: 'system', content: $('system').value}] : [];
  try {
    const r = await fetch('/v1/chat/completions', {method: 'POST', headers: headers(),
      signal: running.signal, body: JSON.stringify({model: model || undefined, stream: true,
        messages: system.concat(messages), temperature: +$('temperature').value,
        max_tokens: +$('max').value})});
    if (!r.ok) throw new Error((await r.json()).error.message);
    const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = '';;) {
      const {value, done} = await reader.read();
      if (done) break;
      const lines = (rest + value).split('\n\n'); rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith('data: {')) continue;
        const j = JSON.parse(line.slice(6));
        if (j.error) throw new Error(j.error.message);
        if (j.choices.length) answer += j.choices[0].delta.content || '';
        box.textContent = answer; box.scrollIntoView(false);
      }
    }
  } catch (x) { if (x.name !== 'AbortError') show('error', x.message); }
  if (answer) messages.push({role: 'assistant', content: answer}); else messages.pop();
  running = null; $('send').disabled = false; $('stop').disabled = true; $('text').focus();
};
</script></body></html>
)html";

}  // namespace sluice
