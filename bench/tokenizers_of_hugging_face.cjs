// Tokens of `warpmark load tokens` beside those of Hugging Face's own tokenizers (Rust), by any tokenizer.json, on any texts:
//   npm install --prefix DIR tokenizers@0.23.2
//   node bench/tokenizers_of_hugging_face.cjs build/release/warpmark DIR/node_modules/tokenizers TOKENIZER.json TEXT...
const fs = require("fs"), os = require("os"), path = require("path"), { execFileSync } = require("child_process");
const [warpmark, folder, file, ...texts] = process.argv.slice(2);
const content = JSON.parse(fs.readFileSync(file, "utf8"));
content.decoder = null; // not needed, and strict about its keys
const theirs = require(path.resolve(folder)).Tokenizer.fromString(JSON.stringify(content));

(async () => {
  const counted = path.join(os.tmpdir(), "tokens." + process.pid + ".json");
  execFileSync(warpmark, ["load", "tokens", ...texts, "--tokenizer", file, "--json", counted]);
  const { kind, files } = JSON.parse(fs.readFileSync(counted));
  fs.rmSync(counted);
  let tokens = 0, different = 0, theirTime = 0, ourTime = 0, bytes = 0;
  for (const entry of files) {
    const text = fs.readFileSync(entry.file, "utf8"), began = process.hrtime.bigint();
    const ids = (await theirs.encode(text, null, { addSpecialTokens: false })).getIds();
    theirTime += Number(process.hrtime.bigint() - began) * 1e-9;
    ourTime += entry.seconds, tokens += ids.length, bytes += entry.bytes;
    if (ids.length !== entry.ids.length || ids.some((id, i) => id !== entry.ids[i])) ++different, console.log("differs: " + entry.file);
  }
  console.log(`${kind}: ${files.length} texts, ${bytes} bytes, ${tokens} tokens, ${different} texts differ; ` +
    `warpmark ${(tokens / ourTime / 1e6).toFixed(2)} M tokens/s, Hugging Face's ${(tokens / theirTime / 1e6).toFixed(2)} M tokens/s`);
})();
