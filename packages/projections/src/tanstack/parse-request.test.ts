import { readFile } from "node:fs/promises";
import { fetchServerSentEvents } from "@tanstack/ai-client";
import type { UIMessage } from "@tanstack/ai/client";
import { describe, expect, it } from "vitest";
import type { ParseOptions } from "../ag-ui/parse-request.ts";
import { parseTanstackRequest } from "./parse-request.ts";

const OPTIONS: ParseOptions = { model: "sim", keepsReasoning: () => true };

/** The body that the client's own adapter sends. */
async function sent(messages: readonly UIMessage[], forwardedProps = {}): Promise<Record<string, unknown>> {
  let body = "";
  const connection = fetchServerSentEvents("http://localhost/", {
    fetchClient: (_url, init) => {
      body = init?.body as string;
      return Promise.resolve(new Response(""));
    },
  });
  const context = { threadId: "t1", runId: "r1", forwardedProps, clientTools: [] };
  for await (const _ of connection.connect([...messages], undefined, undefined, context));
  return JSON.parse(body) as Record<string, unknown>;
}

const user: UIMessage = {
  id: "u1",
  role: "user",
  parts: [{ type: "text", content: "Hi" }],
  createdAt: new Date(0),
};

describe("what TanStack's client sends", () => {
  it("is a run", async () => {
    const { request, runId } = parseTanstackRequest(await sent([user], { seed: 1 }), OPTIONS);
    expect(runId).toBe("r1");
    expect(request).toEqual({
      model: "sim",
      input: [{ role: "user", content: "Hi" }],
      seed: 1,
      metadata: { "ag_ui.thread_id": "t1", "ag_ui.run_id": "r1" },
    });
  });

  it("has thoughts, calls and their answers of earlier runs", async () => {
    const answered: UIMessage = {
      id: "a1",
      role: "assistant",
      parts: [
        { type: "thinking", content: "Hm." },
        { type: "text", content: "Look" },
        {
          type: "tool-call",
          id: "c1",
          name: "look_up",
          arguments: "{}",
          state: "complete",
          output: { found: 1 },
        },
      ],
    };
    const { request } = parseTanstackRequest(await sent([user, answered]), OPTIONS);
    expect(request.input).toEqual([
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: "Look",
        reasoning: [{ text: "Hm." }],
        tool_calls: [{ call_id: "c1", name: "look_up", arguments: "{}" }],
      },
      { role: "tool", call_id: "c1", output: '{"found":1}' },
    ]);
  });

  it("has the fields of the table, and data where there is nothing else", async () => {
    const readme = await readFile(new URL("README.md", import.meta.url), "utf8");
    const rows = [...readme.matchAll(/^\| ((?:`[A-Za-z]+`(?:, )?)+) \| (?:honoured|ignored|refused) \|/gm)];
    const fields = rows.flatMap(([, names]) => names!.split(", ").map((name) => name.slice(1, -1)));
    const body = await sent([user], { seed: 1 });
    expect(fields).toEqual(expect.arrayContaining(Object.keys(body)));
    const { forwardedProps: _, ...older } = body;
    expect(parseTanstackRequest(older, OPTIONS).request.seed).toBe(1);
  });
});
