#!/usr/bin/python3
"""Makes meteor.json beside it with NLTK 3.8 and Debian's WordNet 3.0 (python3-nltk, wordnet-base): METEOR with synonyms.

    python3 tests/data/accuracy/make_meteor.py
"""
import json
import os
import random
import tempfile
from pathlib import Path

from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.translate import meteor_score

WORDNET = "/usr/share/wordnet"
# What NLTK's reader asks for and Debian's package leaves out (lexnames of WordNet 3.0, in its order).
LEXNAMES = ("adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body "
            "noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive "
            "noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process noun.quantity "
            "noun.relation noun.shape noun.state noun.substance noun.time verb.body verb.change verb.cognition "
            "verb.communication verb.competition verb.consumption verb.contact verb.creation verb.emotion verb.motion "
            "verb.perception verb.possession verb.social verb.stative verb.weather adj.ppl").split()
PARTS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
PAIRS = [("car", "auto"), ("big", "large"), ("dog", "domestic_dog"), ("buy", "purchase"), ("begin", "start"),
         ("quick", "fast"), ("house", "home"), ("child", "kid"), ("film", "movie"), ("answer", "reply"),
         ("near", "close"), ("end", "finish"), ("help", "aid"), ("shop", "store"), ("error", "mistake"),
         ("mice", "mouse"), ("children", "child"), ("went", "go"), ("cars", "automobile"), ("feet", "foot"),
         ("happy", "glad"), ("run", "running"), ("man", "adult_male"), ("sofa", "couch")]
FILL = ("the a of on in old new red they we it was is and with house tree water city road small people").split()


def wordnet(folder):
    for name in os.listdir(WORDNET):
        if os.path.isfile(os.path.join(WORDNET, name)):
            os.symlink(os.path.join(WORDNET, name), os.path.join(folder, name))
    rows = [f"{i:02d}\t{name}\t{PARTS[name.split('.')[0]]}\n" for i, name in enumerate(LEXNAMES)]
    Path(folder, "lexnames").write_text("".join(rows))
    Path(folder, "index.sense").touch()
    return WordNetCorpusReader(folder, None)


def case(reader):
    reference, hypothesis = [], []
    for _ in range(random.randint(1, 14)):
        if random.random() < 0.45:
            one, other = random.choice(PAIRS)
            if random.random() < 0.5:
                one, other = other, one
            reference.append(one)
            hypothesis.append(other if random.random() < 0.8 else one)
        else:
            word = random.choice(FILL)
            reference.append(word)
            if random.random() < 0.85:
                hypothesis.append(word if random.random() < 0.85 else random.choice(FILL))
    if random.random() < 0.3:
        random.shuffle(hypothesis)
    if random.random() < 0.2:
        hypothesis = [word.capitalize() for word in hypothesis]
    return {"reference": " ".join(reference), "hypothesis": " ".join(hypothesis),
            "meteor": meteor_score.single_meteor_score(reference, hypothesis, wordnet=reader)}


def main():
    random.seed(11)
    with tempfile.TemporaryDirectory() as folder:
        reader = wordnet(folder)
        cases = [case(reader) for _ in range(60)]
    (Path(__file__).parent / "meteor.json").write_text(json.dumps(cases, indent=0) + "\n")


main()
