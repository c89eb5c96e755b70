import { RepriseError } from "@reprise/client";
import { createProviderRegistry, generateText, jsonSchema, stepCountIs, tool } from "ai";
import { expect, it } from "vitest";
import {
  called,
  COMPLETED,
  delta,
  type Draft,
  FAKE_ID,
  STARTED,
  toEvents,
} from "../fake-generation.fixture.ts";
import { createReprise } from "./create-reprise.ts";

/** The body of a request that the platform was sent. */
interface Sent {
  readonly input: readonly { readonly role: string; readonly reasoning?: unknown }[];
}

/** A provider whose platform answers its requests with these, one after the other. */
function createFakePlatform(...answers: readonly (() => Response)[]) {
  const sent: Sent[] = [];
  const fetch = async (_url: string, { body }: { body?: unknown }): Promise<Response> => {
    const answer = answers[sent.push(JSON.parse(String(body)) as Sent) - 1];
    if (!answer) throw new Error(`the test has no answer for request ${sent.length}`);
    return answer();
  };
  const reprise = createReprise({ baseUrl: "http://127.0.0.1:8080", apiKey: "rk_x", fetch });
  return { reprise, sent };
}

const streamed =
  (...drafts: readonly Draft[]) =>
  () =>
    new Response(
      toEvents(drafts)
        .map((event) => `id: c${event.seq}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(""),
      { headers: { "content-type": "text/event-stream", "reprise-generation-id": FAKE_ID } },
    );
const refused = (code: string, param: string) => () =>
  Response.json({ error: { code, message: "No.", param, retryable: false } }, { status: 400 });

it("a step after a tool's answer is asked for without reasoning that the model does not take back", async () => {
  const { reprise, sent } = createFakePlatform(
    streamed(STARTED, { type: "reasoning.delta", text: "hm" }, called("{}"), {
      ...COMPLETED,
      finish_reason: "tool_calls",
    }),
    refused("capability_unsupported", "input.1.reasoning"),
    streamed(STARTED, delta("Done."), COMPLETED),
  );
  const { text, steps } = await generateText({
    model: reprise("sim"),
    prompt: "Hi",
    tools: { look_up: tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "found" }) },
    stopWhen: stepCountIs(2),
    maxRetries: 0,
  });
  expect([text, steps.length, steps[0]?.reasoningText]).toEqual(["Done.", 2, "hm"]);
  expect(sent.map(({ input }) => input.map(({ role, reasoning }) => [role, reasoning]))).toEqual([
    [["user", undefined]],
    [
      ["user", undefined],
      ["assistant", [{ text: "hm" }]],
      ["tool", undefined],
    ],
    [
      ["user", undefined],
      ["assistant", undefined],
      ["tool", undefined],
    ],
  ]);
});

it("what the platform refuses is the call's error, with its field", async () => {
  const { reprise } = createFakePlatform(refused("invalid_request", "top_p"));
  const failing = generateText({ model: reprise("sim"), prompt: "Hi", topP: 7, maxRetries: 0 });
  await expect(failing).rejects.toMatchObject({ code: "invalid_request", param: "top_p" });
});

it("it is a provider of the AI SDK's, which has language models alone", () => {
  const { reprise } = createFakePlatform();
  expect(createProviderRegistry({ reprise }).languageModel("reprise:sim")).toMatchObject({ modelId: "sim" });
  for (const kind of ["embeddingModel", "imageModel"] as const)
    expect(() => reprise[kind]("sim")).toThrow(
      expect.objectContaining({ code: "capability_unsupported", param: "modelId" }),
    );
});

it("a wrong option is refused", () => {
  expect(() => createReprise({ baseUrl: "not a URL", apiKey: "rk_x" })).toThrow(RepriseError);
});
