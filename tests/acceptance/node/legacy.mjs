// The official MCP client of the protocol revisions up to 2025-11-25.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Agent, run, server } from "./story.mjs";

async function connect(identity, surface) {
  const client = new Client({ name: "official-client", version: "1" });
  const agent = new Agent(client);
  await client.connect(new StdioClientTransport(server(identity, surface)));
  return agent;
}

const [lola, donna] = await Promise.all([
  connect("Lola", "claude_desktop"),
  connect("Donna", "claude_code"),
]);
await run(lola, donna, null);
