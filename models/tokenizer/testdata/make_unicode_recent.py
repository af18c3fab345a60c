"""Prints ../unicode_recent.inc: code points that Unicode 14 (PCRE2 10.42, ICU 72 has 15) does not know
and that the regex engine of Hugging Face tokenizers does, with their general category.

usage: python make_unicode_recent.py > ../unicode_recent.inc   (needs tokenizers; Python 3.11 has Unicode 14)
"""
import unicodedata

from tokenizers import Regex, pre_tokenizers

assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
CLASSES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf",
           "Po", "Sm", "Sc", "Sk", "So", "Cf"]
SPLITS = {c: pre_tokenizers.Split(Regex(r"\p{%s}" % c), "removed") for c in CLASSES}
ranges = []
for code in range(0x110000):
    if 0xD800 <= code < 0xE000 or unicodedata.category(chr(code)) != "Cn":
        continue
    found = [c for c in CLASSES if not SPLITS[c].pre_tokenize_str(chr(code))]
    if not found:
        continue
    if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == found[0]:
        ranges[-1][1] = code
    else:
        ranges.append([code, code, found[0]])
print("// Made by testdata/make_unicode_recent.py.")
for first, last, category in ranges:
    print(f"{{0x{first:X}, 0x{last:X}, Category::{category}}},")
