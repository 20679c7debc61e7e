#!/usr/bin/python3
"""Makes the golden values beside it with the reference implementations: sacrebleu 2.6.0, rouge-score (google-research,
folder rouge/, as package `rouge`), NLTK 3.8, scikit-learn 1.2, SciPy 1.10, and the scripts of SQuAD and human-eval, whose
few formulas stand below.

    PYTHONPATH=<folder with sacrebleu and rouge> python3 tests/data/accuracy/make_goldens.py
"""
import collections, json, random, re, string, warnings
from pathlib import Path

import numpy as np
import sacrebleu
from nltk.stem.porter import PorterStemmer
from nltk.translate import meteor_score as nltk_meteor
from rouge.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF, TER
from scipy import stats
from sklearn import metrics as sk

warnings.simplefilter("ignore")
HERE = Path(__file__).parent
random.seed(7)
WORDS = ("the a an cat dog runs quickly over lazy fox houses beautifully national relational don't it's U.S. e.g. 3.14 "
         "1,000 50% naïve café Zürich straße ΟΔΟΣ Größe 東京 大学 こんにちは привет мир İstanbul — “quoted” (brackets) "
         "well-known 3-4 $5.00 &amp; &lt;b&gt; ties flying studies generalization hopefulness news skies agreed "
         "machine learning models answer questions about large pictures of small red objects !").split()


def sentence(n):
    text = " ".join(random.choice(WORDS) for _ in range(n))
    return text + random.choice([".", "!", "", " ?", "…", "。"])


def changed(text):
    words = text.split(" ")
    for _ in range(random.randint(0, max(1, len(words) // 3))):
        i = random.randrange(len(words))
        kind = random.random()
        if kind < 0.35:
            words[i] = random.choice(WORDS)
        elif kind < 0.55 and len(words) > 1:
            del words[i]
        elif kind < 0.75:
            words.insert(i, random.choice(WORDS))
        else:
            j = random.randrange(len(words))
            words[i], words[j] = words[j], words[i]
    return " ".join(words)


references = [sentence(random.randint(1, 30)) for _ in range(120)]
second = [changed(r) for r in references]
hypotheses = [changed(r) if random.random() < 0.9 else sentence(random.randint(1, 20)) for r in references]
hypotheses[5] = ""
hypotheses[17] = "   "
hypotheses[30] = references[30]
hypotheses[41] = "a\u00a0b\u2009c\u3000d"


def text_goldens():
    values = []
    for lowercase in (False, True):
        for tok in ("13a", "intl", "char", "zh", "none"):
            for smooth, value in (("exp", None), ("floor", None), ("floor", 0.01), ("add-k", None), ("add-k", 2), ("none", None)):
                for eff in (False, True):
                    if (lowercase or eff) and (tok not in ("13a", "intl") or smooth != "exp"):
                        continue
                    for refs in ([references], [references, second]):
                        bleu = BLEU(lowercase=lowercase, tokenize=tok, smooth_method=smooth, smooth_value=value, effective_order=eff)
                        score = bleu.corpus_score(hypotheses, refs)
                        values.append({"metric": "bleu", "tokenize": tok, "smooth": smooth, "smooth_value": value,
                                       "lowercase": lowercase, "effective_order": eff, "references": len(refs),
                                       "value": score.score, "signature": str(bleu.get_signature())})
    for order in (1, 2, 3):
        score = BLEU(max_ngram_order=order).corpus_score(hypotheses, [references])
        values.append({"metric": "bleu", "tokenize": "13a", "smooth": "exp", "smooth_value": None, "lowercase": False,
                       "effective_order": False, "references": 1, "most_words": order, "value": score.score})
    for words in (0, 2):
        for kwargs in ({}, {"lowercase": True}, {"whitespace": True}, {"eps_smoothing": True}, {"beta": 1}, {"char_order": 4}):
            for refs in ([references], [references, second]):
                chrf = CHRF(word_order=words, **kwargs)
                values.append({"metric": "chrf", "words": words, "references": len(refs), **kwargs,
                               "value": chrf.corpus_score(hypotheses, refs).score, "signature": str(chrf.get_signature())})
    for kwargs in ({}, {"case_sensitive": True}, {"normalized": True}, {"no_punct": True}, {"normalized": True, "no_punct": True}):
        for refs in ([references], [references, second]):
            ter = TER(**kwargs)
            values.append({"metric": "ter", "references": len(refs), **kwargs,
                           "value": ter.corpus_score(hypotheses, refs).score, "signature": str(ter.get_signature())})
    sentences = []
    bleu, chrf, ter = BLEU(effective_order=True), CHRF(), TER()
    multi = ["\n".join(random.choice(references) for _ in range(3)) for _ in range(40)]
    multi_out = ["\n".join(changed(l) for l in m.split("\n")) for m in multi]
    for h, r in list(zip(hypotheses, references))[:60]:
        sentences.append({"hypothesis": h, "reference": r, "bleu": bleu.sentence_score(h, [r]).score,
                          "chrf": chrf.sentence_score(h, [r]).score, "ter": ter.sentence_score(h, [r]).score})
    class NoSynonyms:
        def synsets(self, word):
            return []
    rouge = []
    for h, r in list(zip(hypotheses, references))[:30] + list(zip(multi_out, multi)):
        for stem in (False, True):
            scores = RougeScorer(["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"], stem).score(r, h)
            rouge.append({"hypothesis": h, "reference": r, "stem": stem, **{k: list(v) for k, v in scores.items()}})
        rouge[-1]["meteor"] = nltk_meteor.single_meteor_score(r.split(), h.split(), wordnet=NoSynonyms())
    tokens = {tok: [(r, BLEU(tokenize=tok).tokenizer(r)) for r in references[:40]] for tok in ("13a", "intl", "zh", "char")}
    return {"references": references, "second": second, "hypotheses": hypotheses, "corpus": values,
            "sentences": sentences, "rouge": rouge, "tokens": tokens}


def stem_goldens():
    roots = ["nation", "relat", "hope", "happ", "fl", "stud", "agre", "control", "sens", "radic", "oper", "conform", "analog",
             "ge", "theo", "d", "t", "sk", "en", "enjo", "bow", "ab", "be", "fil", "hop", "tann", "fizz", "conflat", "troubl",
             "siz", "yell", "syzyg", "vietnam", "decis", "electr", "adjust", "commun", "bowdler", "activ", "probat", "rat", "ceas"]
    ends = ["", "s", "es", "ies", "ied", "ed", "ing", "y", "ying", "ational", "tional", "enci", "izer", "bli", "alli", "entli",
            "eli", "ousli", "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti", "biliti",
            "fulli", "logi", "icate", "ative", "alize", "ical", "ful", "ness", "al", "ance", "er", "ic", "able", "ement", "ment",
            "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize", "e", "ll", "sses", "eed"]
    stemmer = PorterStemmer()
    words = sorted({r + e for r in roots for e in ends} | {"sky", "skies", "dying", "lying", "news", "innings", "howe", "proceed", "a", "is"})
    return {w: stemmer.stem(w) for w in words}


def squad_goldens():
    def normalize(s):
        s = "".join(ch for ch in s.lower() if ch not in set(string.punctuation))
        return " ".join(re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", s).split())
    def pair(gold, pred):
        g, p = normalize(gold).split(), normalize(pred).split()
        common = sum((collections.Counter(g) & collections.Counter(p)).values())
        exact = int(normalize(gold) == normalize(pred))
        if not g or not p:
            return exact, int(g == p)
        if common == 0:
            return exact, 0
        return exact, 2 * (common / len(p)) * (common / len(g)) / (common / len(p) + common / len(g))
    pairs = [("The Cat!", "cat"), ("a b c", "b c d"), ("", ""), ("", "x"), ("U.S.A.", "USA"), ("the", "a"),
             ("New York-based", "new york based"), ("10,000", "10000"), ("it’s", "it's"), ("a_the", "a the"), ("Ärger an", "ärger")]
    pairs += [(r, h) for r, h in zip(references[:30], hypotheses[:30])]
    return [{"gold": g, "answer": p, "exact": pair(g, p)[0], "f1": pair(g, p)[1]} for g, p in pairs]


def class_goldens():
    cases = []
    for classes, n in ((2, 40), (2, 300), (3, 120), (5, 60), (2, 7)):
        rng = np.random.default_rng(classes * 1000 + n)
        truth = rng.integers(0, classes, n)
        if n == 60:
            truth[truth == 4] = 0  # a class that only predictions have
        noise = rng.random((n, classes)) + 0.8 * np.eye(classes)[truth] * (rng.random((n, 1)) < 0.7)
        p = np.round(noise / noise.sum(1, keepdims=True), 6)
        predicted = p.argmax(1)
        case = {"truth": truth.tolist(), "predicted": predicted.tolist(), "probabilities": p.tolist(), "values": {
            "accuracy": sk.accuracy_score(truth, predicted), "balanced_accuracy": sk.balanced_accuracy_score(truth, predicted),
            "mcc": sk.matthews_corrcoef(truth, predicted), "kappa": sk.cohen_kappa_score(truth, predicted),
            "kappa_linear": sk.cohen_kappa_score(truth, predicted, weights="linear"),
            "kappa_quadratic": sk.cohen_kappa_score(truth, predicted, weights="quadratic")}}
        for average in ("micro", "macro", "weighted"):
            for name, f in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
                case["values"][f"{name}_{average}"] = f(truth, predicted, average=average, zero_division=0)
        if len(set(truth)) == classes:
            case["values"]["log_loss"] = sk.log_loss(truth, p)
        if classes == 2:
            case["values"].update({"f1": sk.f1_score(truth, predicted), "auc": sk.roc_auc_score(truth, p[:, 1]),
                                   "auc_tied": sk.roc_auc_score(truth, np.round(p[:, 1], 1)), "brier": sk.brier_score_loss(truth, p[:, 1])})
        cases.append(case)
    return cases


def correlation_goldens():
    cases = []
    for n, ties in ((5, False), (30, False), (30, True), (200, True), (4, True)):
        rng = np.random.default_rng(n + ties)
        a, b = rng.normal(size=n), rng.normal(size=n)
        b = b + a
        if ties:
            a, b = np.round(a), np.round(b * 2) / 2
        cases.append({"a": a.tolist(), "b": b.tolist(), "pearson": stats.pearsonr(a, b)[0],
                      "spearman": stats.spearmanr(a, b)[0], "kendall": stats.kendalltau(a, b)[0]})
    return cases


def test_goldens():
    cases = {"mcnemar": [], "paired_t": [], "clopper_pearson": [], "pass_at_k": []}
    for b, c in ((10, 2), (25, 15), (0, 6), (121, 59), (3, 3), (1, 0), (40, 70), (500, 430)):
        p = stats.binomtest(min(b, c), b + c, 0.5).pvalue
        mid = min(1, 2 * stats.binom.cdf(min(b, c), b + c, 0.5) - stats.binom.pmf(min(b, c), b + c, 0.5)) if b != c else 1
        cases["mcnemar"].append({"b": b, "c": c, "p": p, "mid_p": mid})
    for n in (5, 20, 100):
        rng = np.random.default_rng(n)
        a = rng.normal(size=n); b = a + rng.normal(0.2, 1, n)
        t = stats.ttest_rel(b, a); ci = t.confidence_interval(0.95)
        cases["paired_t"].append({"a": a.tolist(), "b": b.tolist(), "p": t.pvalue, "low": ci.low, "high": ci.high})
    for k, n in ((0, 10), (10, 10), (3, 10), (50, 100), (999, 1000), (1, 7)):
        ci = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
        cases["clopper_pearson"].append({"k": k, "n": n, "low": ci.low, "high": ci.high})
    for n, c, k in ((10, 3, 1), (10, 3, 5), (200, 1, 100), (100, 10, 10), (5, 4, 2), (20, 0, 5), (20, 20, 1), (200, 37, 10)):
        value = 1.0 if n - c < k else float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))
        cases["pass_at_k"].append({"n": n, "c": c, "k": k, "value": value})
    return cases


assert sacrebleu.__version__ == "2.6.0"
for name, made in (("text", text_goldens()), ("stems", stem_goldens()), ("squad", squad_goldens()),
                   ("classes", class_goldens()), ("correlations", correlation_goldens()), ("tests", test_goldens())):
    (HERE / f"{name}.json").write_text(json.dumps(made, ensure_ascii=False, indent=0, default=lambda v: v.item()) + "\n")
