"""Writes unicode_sets.cc and unicode_case.cc: what Python's str knows of characters.

    python3 models/io/chat/testdata/make_unicode_tables.py   (Python 3.11: Unicode 14)
"""
import os

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALL = range(0x110000)
HEAD = "// Made by testdata/make_unicode_tables.py.\n#include \"models/io/chat/unicode_tables.h\"\n\n" \
       "namespace sluice::jinja {\n\n// clang-format off\n"
FOOT = "// clang-format on\n\n}  // namespace sluice::jinja\n"


def wrap(items):
    lines, line = [], " "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = " "
        line += " " + item + ","
    return "\n".join(lines + [line]) + "\n"


def boundaries(member):
    found, inside = [], False
    for c in ALL:
        if member(chr(c)) != inside:
            found.append(c)
            inside = not inside
    return found


def runs(change):
    found = []
    for c in ALL:
        to = change(chr(c))
        if len(to) != 1 or ord(to) == c:
            continue
        delta = ord(to) - c
        last = found[-1] if found else None
        if last and last[3] == delta and last[0] == last[1] and c - last[1] in (1, 2):
            last[1], last[2] = c, c - last[0]
        elif last and last[3] == delta and c - last[1] == last[2]:
            last[1] = c
        else:
            found.append([c, c, 1, delta])
    return found


def escape(text):
    return "".join(f"\\x{b:02x}" for b in text.encode())


def write(name, body):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write(HEAD + body + FOOT)


def main():
    body = ""
    for name, member in (("kPrintable", str.isprintable), ("kAlpha", str.isalpha),
                         ("kDecimal", str.isdecimal), ("kDigit", str.isdigit),
                         ("kNumeric", str.isnumeric)):
        body += f"static const uint32_t {name}Data[] = {{\n{wrap(map(str, boundaries(member)))}}};\n"
        body += f"const std::span<const uint32_t> {name}({name}Data);\n\n"
    write("unicode_sets.cc", body)
    body = ""
    for name, change in (("kUpper", str.upper), ("kLower", str.lower), ("kTitle", str.title)):
        table = ["{" + ", ".join(map(str, run)) + "}" for run in runs(change)]
        body += f"static const CaseRun {name}Data[] = {{\n{wrap(table)}}};\n"
        body += f"const std::span<const CaseRun> {name}({name}Data);\n\n"
        table = [f'{{{c}, "{escape(change(chr(c)))}"}}' for c in ALL if len(change(chr(c))) > 1]
        body += f"static const CaseSpecial {name}SpecialData[] = {{\n{wrap(table)}}};\n"
        body += f"const std::span<const CaseSpecial> {name}Special({name}SpecialData);\n\n"
    write("unicode_case.cc", body)


if __name__ == "__main__":
    main()
