#!/usr/bin/python3
"""Makes ter_asian.json beside it with sacrebleu: TER of texts in Asian scripts, with each of its options.

    PYTHONPATH=<folder with sacrebleu 2.6.0> python3 tests/data/accuracy/make_ter_asian.py
"""
import json
import random
from pathlib import Path

from sacrebleu.metrics import TER

CHARACTERS = "東京大学は、今日も「晴れ」です。カタカナひらがな漢字（注）！？：；，．㍿㈱⺀㇀豈︰〈〉〔〕〜・ｱ､｡"
LATIN = "the cat's 3.5 well-known U.S. a, b; (c) don't 1,000".split()


def line():
    out = ""
    for _ in range(random.randint(1, 9)):
        if random.random() < 0.3:
            out += random.choice(LATIN) + " "
        else:
            out += "".join(random.choice(CHARACTERS) for _ in range(random.randint(1, 6))) + random.choice(["", " "])
    return out


def changed(text):
    letters = list(text)
    for _ in range(random.randint(0, max(1, len(letters) // 4))):
        at = random.randrange(len(letters)) if letters else 0
        kind = random.random()
        if not letters:
            break
        if kind < 0.4:
            letters[at] = random.choice(CHARACTERS)
        elif kind < 0.6:
            del letters[at]
        elif kind < 0.8:
            letters.insert(at, random.choice(CHARACTERS))
        else:
            other = random.randrange(len(letters))
            letters[at], letters[other] = letters[other], letters[at]
    return "".join(letters)


def value_of(references, hypotheses, normalized, no_punct, case_sensitive):
    ter = TER(normalized=normalized, no_punct=no_punct, asian_support=True, case_sensitive=case_sensitive)
    return {"normalized": normalized, "no_punct": no_punct, "case_sensitive": case_sensitive,
            "value": ter.corpus_score(hypotheses, [references]).score, "signature": str(ter.get_signature()),
            "tokens": [ter.tokenizer(r) if hasattr(ter, "tokenizer") else ter._preprocess_segment(r)
                       for r in references]}


def main():
    random.seed(5)
    references = [line() for _ in range(40)] + ["ひらがな", "カタカナ"]
    hypotheses = [changed(r) for r in references]
    values = [value_of(references, hypotheses, n, p, c)
              for n in (False, True) for p in (False, True) for c in (False, True)]
    text = json.dumps({"references": references, "hypotheses": hypotheses, "values": values}, ensure_ascii=False,
                      indent=0)
    (Path(__file__).parent / "ter_asian.json").write_text(text + "\n", encoding="utf-8")


main()
