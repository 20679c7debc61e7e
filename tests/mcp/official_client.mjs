// `warpmark mcp` by the official client of the protocol (@modelcontextprotocol/sdk of npm), which checks each structured
// answer by the tool's outputSchema. Usage: node official_client.mjs FOLDER-WITH-node_modules WARPMARK CONFIG TRACE [COMMAND]
import { createRequire } from "node:module";
import path from "node:path";

const [sdk, warpmark, config, trace, command] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(sdk), "from-here.js"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const client = new Client({ name: "warpmark-test", version: "1" });
await client.connect(new StdioClientTransport({ command: warpmark, args: ["mcp", "--config", config], stderr: "inherit" }));
const { tools } = await client.listTools();
const said = { server: client.getServerVersion().name, tools: tools.length, progress: 0,
               schemas: tools.filter((tool) => tool.outputSchema?.type === "object").length };

async function call(name, args) {
  const answer = await client.callTool({ name, arguments: args }, undefined,
                                       { timeout: 300_000, onprogress: () => ++said.progress, resetTimeoutOnProgress: true });
  if (answer.isError) throw new Error(`${name}: ${answer.content[0].text}`);
  return answer;
}

said.doctor = (await call("doctor", {})).structuredContent.schema;
said.analyze = (await call("analyze", { paths: [trace] })).structuredContent.schema;
said.rows = (await call("query", { paths: [trace], sql: "SELECT * FROM events", limit: 3 })).structuredContent.rows.length;
if (command) {
  const answer = await call("profile", { command });
  said.profile = answer.structuredContent.schema;
  said.next = answer.content[0].text.includes("Next: ");
}
await client.close();
console.log(JSON.stringify(said));
