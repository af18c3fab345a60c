#!/usr/bin/env python3
"""Golden tables of this folder, from NLTK and Math-Verify in a throw-away environment:

pip install nltk math-verify antlr4-python3-runtime==4.13.2; python3 make_golden.py
"""
import json
import os
import random
import warnings

from math_verify import parse, verify
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

HERE = os.path.dirname(os.path.abspath(__file__))

# Given answer, reference.
PAIRS = [
    ("1/2", "0.5"), ("\\frac{1}{2}", "0.5"), ("\\frac12", "\\dfrac{1}{2}"), ("0.333333", "1/3"),
    ("2(x+1)", "2x+2"), ("(x+1)^2", "x^2+2x+1"), ("(x+1)^2", "x^2+1"), ("\\sqrt{8}", "2\\sqrt{2}"),
    ("\\sqrt{2}/2", "\\frac{1}{\\sqrt{2}}"), ("\\sqrt{12}", "3\\sqrt{2}"), ("2^{10}", "1024"),
    ("1,234", "1234"), ("x=5", "5"), ("5", "6"), ("-3", "3"), ("3\\pi", "\\pi \\cdot 3"),
    ("\\frac{\\pi}{2}", "\\frac{\\pi}{3}"), ("(1,2)", "(1, 2)"), ("(1,2)", "(2,1)"),
    ("[0,1)", "[0,1)"), ("\\{1,2\\}", "\\{2,1\\}"), ("\\{1,2\\}", "\\{1,3\\}"),
    ("\\frac{x^2-1}{x-1}", "x+1"), ("x^2+y^2", "y^2+x^2"), ("\\sin^2 x+\\cos^2 x", "1"),
    ("2\\sin x\\cos x", "\\sin(2x)"), ("10^{-3}", "0.001"), ("\\frac{3}{4}", "\\frac{6}{8}"),
    ("-\\frac{1}{2}", "\\frac{-1}{2}"), ("\\sqrt[3]{27}", "3"), ("a+b", "b+a"), ("ab", "ba"),
    ("a-b", "b-a"), ("\\left(3, \\frac{\\pi}{2}\\right)", "(3, \\pi/2)"), ("90^\\circ", "90"),
    ("\\ln(e^2)", "2"), ("4.0", "4"), ("3.14", "\\pi"), ("100000000000000000001",
    "100000000000000000000"), ("\\frac{1}{x}+\\frac{1}{y}", "\\frac{x+y}{xy}"), ("2+2", "4"),
]


def math_rows():
    for given, reference in PAIRS:
        gold, answer = parse(f"${reference}$"), parse(f"${given}$")
        yield {"given": given, "reference": reference, "same": bool(verify(gold, answer))}


def bleu_rows():
    smooth = SmoothingFunction()
    methods = {"none": smooth.method0, "floor": smooth.method1, "add-one": smooth.method2,
               "exp": smooth.method3}
    rng = random.Random(3)
    for case in range(40):
        vocabulary = rng.choice([3, 6, 12])
        references = [[rng.randrange(vocabulary) for _ in range(rng.randint(1, 14))]
                      for _ in range(rng.randint(1, 3))]
        candidate = list(rng.choice(references))
        for _ in range(rng.randint(0, 4)):
            candidate[rng.randrange(len(candidate))] = rng.randrange(vocabulary)
        candidate = candidate[:rng.randint(1, len(candidate))] if case % 3 == 0 else candidate
        max_n = rng.choice([1, 2, 4])
        row = {"candidate": candidate, "references": references, "max_n": max_n}
        for name, method in methods.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = sentence_bleu(references, candidate, weights=[1 / max_n] * max_n,
                                      smoothing_function=method)
            row[name] = 0.0 if value < 1e-70 else value  # NLTK puts the smallest float for 0
        yield row


def write(name, rows):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    write("math_golden.json", math_rows())
    write("bleu_golden.json", bleu_rows())
