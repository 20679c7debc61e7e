#!/usr/bin/env python3
"""Token numbers of golden.json, by the tokenizers of others.

    npm install --prefix DIR tokenizers@0.23.2
    /usr/bin/python3 tests/data/tokenizers/make_goldens.py DIR [TEXTS.json]

Hugging Face's own implementation (Rust, as its package for Node.js) reads the *.json, SentencePiece's Python module
(python3-sentencepiece) the *.model. The texts are those that golden.json has, or those of TEXTS.json."""
import json, os, subprocess, sys

import sentencepiece

here = os.path.dirname(os.path.abspath(__file__))
golden = os.path.join(here, "golden.json")
ENCODE = """
const tokenizers = require(process.argv[1] + "/node_modules/tokenizers"), fs = require("fs");
const file = JSON.parse(fs.readFileSync(process.argv[2]));
file.decoder = null;  // of no use here, and small ones lack what Rust asks for
const tokenizer = tokenizers.Tokenizer.fromString(JSON.stringify(file));
(async () => {
  const all = [];
  for (const text of JSON.parse(fs.readFileSync(process.argv[3])).texts) {
    all.push(Array.from((await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds()));
  }
  console.log(JSON.stringify(all));
})();
"""
with open(golden) as file:
    content = json.load(file)
if len(sys.argv) > 2:
    with open(sys.argv[2]) as file:
        content = {"texts": json.load(file), "ids": {}}
    with open(golden, "w") as file:
        json.dump(content, file)
ids = {}
for name in sorted(os.listdir(here)):
    path = os.path.join(here, name)
    if name.endswith(".model"):
        processor = sentencepiece.SentencePieceProcessor(model_file=path)
        ids[name] = [processor.encode(text) for text in content["texts"]]
    elif name.endswith(".json") and name != "golden.json":
        words = ["node", "-e", ENCODE, os.path.abspath(sys.argv[1]), path, golden]
        ids[name] = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
with open(golden, "w") as file:
    json.dump({"texts": content["texts"], "ids": ids}, file, separators=(",", ":"))
