// SPEC-034 §3 as two MCP clients live it. Which client library they use is the caller's choice.
import assert from "node:assert/strict";

const PID = "PID-PGR01";
const CHANNEL = "notifications/claude/channel";
const PATIENCE = 20_000;

const TASK = {
  spec_id: "SPEC-033",
  instructions: "Summarize SPEC-033, review it, and provide feedback on gaps or concerns. "
    + "Reply via signal when complete.",
};
const REVIEW = {
  spec_id: "SPEC-033",
  summary: "Five-layer reference model covering...",
  gaps: ["§5 deployment matrix missing Windows native path", "§6 doesn't address offline agents"],
  recommendation: "Accept with amendments",
};
const THANKS = { message: "Thanks Donna. Received your review." };

/** One agent: its client, and the channel events that reached it. */
export class Agent {
  #events = [];
  #waiting = [];

  constructor(client) {
    this.client = client;
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method !== CHANNEL) return;
      this.#events.push(params);
      for (const look of this.#waiting.splice(0)) look();
    };
  }

  /** The content of the channel event of a signal, waited for. */
  async event(signalId) {
    const deadline = AbortSignal.timeout(PATIENCE);
    for (;;) {
      const found = this.#events.find((e) => e.meta.signal_id === signalId);
      if (found) return found.content;
      await new Promise((look, fail) => {
        this.#waiting.push(look);
        deadline.addEventListener("abort", () => fail(new Error(`no event of ${signalId}`)));
      });
    }
  }

  /** Call a verb; gives its answer. */
  async call(name, args) {
    const result = await this.client.callTool({ name, arguments: args });
    assert.ok(!result.isError, JSON.stringify(result));
    assert.equal(result.structuredContent, undefined);
    assert.equal(result.content.length, 1);
    return JSON.parse(result.content[0].text);
  }
}

const ofAgents = (answer) =>
  (answer.pending_signals ?? []).filter((s) => !/^(Peer|Master)/.test(s.signal_type));

/** How the two servers are started; the environment is this process's, settings included. */
export function server(identity, surface) {
  const env = { ...process.env, PRISM_PROJECT: PID };
  env.PRISM_AGENT_IDENTITY = identity;
  env.PRISM_AGENT_SURFACE = surface;
  return { command: process.argv[2], args: ["mcp"], env, stderr: "inherit" };
}

export async function story(lola, donna) {
  const verbs = (await lola.client.listTools()).tools.map((t) => t.name);
  await lola.call("prism_start", { pid: PID });
  const { context } = await donna.call("prism_start", { pid: PID });

  const asked = await lola.call("prism_signal", {
    pid: PID, to: "Donna", signal_type: "ReviewRequested", payload: TASK,
  });
  assert.equal(asked.delivered, true);
  assert.equal(asked.resolved_to_session, context.session);
  const inline = await donna.event(asked.signal_id);
  assert.ok(inline.startsWith(`📨 Signal from Lola (ReviewRequested): "${TASK.instructions}"`));

  await donna.call("prism_signal", {
    pid: PID, to: "Lola", signal_type: "ReviewCompleted", payload: REVIEW,
    in_reply_to: asked.signal_id,
  });
  const [entry] = ofAgents(await lola.call("prism_status", {}));
  assert.deepEqual(entry.payload, REVIEW);
  assert.equal(entry.from, "Donna");
  assert.equal(entry.in_reply_to, asked.signal_id);

  const thanked = await lola.call("prism_signal", {
    pid: PID, to: "Donna", signal_type: "Acknowledgment", payload: THANKS,
    in_reply_to: asked.signal_id,
  });
  const closing = await donna.event(thanked.signal_id);
  assert.ok(closing.startsWith(`📨 Signal from Lola (Acknowledgment): "${THANKS.message}"`));
  return { verbs, asked: asked.signal_id };
}

/** Run it and print one JSON line: the verdict, and which protocol versions were spoken. */
export async function run(lola, donna, versions) {
  const told = await story(lola, donna);
  console.log(JSON.stringify({ verdict: "ok", versions, ...told }));
  await Promise.all([lola.client.close(), donna.client.close()]);
}
