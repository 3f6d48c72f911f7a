// The official MCP client that speaks both protocol eras and finds out which one a server speaks.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Agent, run, server } from "./story.mjs";

async function connect(identity, surface) {
  const options = { versionNegotiation: { mode: "auto" } };
  const client = new Client({ name: "official-client", version: "2" }, options);
  const agent = new Agent(client);
  await client.connect(new StdioClientTransport(server(identity, surface)));
  return agent;
}

const [lola, donna] = await Promise.all([
  connect("Lola", "claude_desktop"),
  connect("Donna", "claude_code"),
]);
const versions = [lola, donna].map(({ client }) => client.getNegotiatedProtocolVersion());
await run(lola, donna, versions);
