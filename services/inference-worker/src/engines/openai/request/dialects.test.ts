import { readFileSync } from "node:fs";
import { capabilitiesOf, type Dialect, DIALECTS, needsOf, parseGenerationRequest } from "@reprise/protocol";
import { expect, test } from "vitest";
import { NO_PROGRESS } from "../../engine.ts";
import { toChatRequest } from "./chat-request.ts";

const README = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8");
const SCHEMA = { type: "object" };
const CALL = { call_id: "c", name: "f", arguments: "{}" };
const tools = [{ name: "f" }];
const user = (part: object) => ({ input: [{ role: "user", content: [part] }] });
const turn = (fields: object) => ({ input: [{ role: "assistant", content: "x", ...fields }] });
const media = (type: string) => `data:${type};base64,AAAA`;

/** The rows of the table: a request that has the field, and nothing else that a direct call would not have. */
const FIELDS: Record<string, object> = {
  top_p: { top_p: 0.5 },
  top_k: { top_k: 5 },
  min_p: { min_p: 0.1 },
  frequency_penalty: { frequency_penalty: 1 },
  presence_penalty: { presence_penalty: 1 },
  repetition_penalty: { repetition_penalty: 1.1 },
  logit_bias: { logit_bias: { 7: 1 } },
  logprobs: { logprobs: 2 },
  "strict of a function": { tools: [{ name: "f", strict: true }] },
  "tool_choice: none": { tools, tool_choice: "none" },
  "tool_choice: required": { tools, tool_choice: "required" },
  "tool_choice: {name}": { tools, tool_choice: { name: "f" } },
  parallel_tool_calls: { tools, parallel_tool_calls: true },
  "response_format: json_object": { response_format: { type: "json_object" } },
  "response_format: json_schema": { response_format: { type: "json_schema", schema: SCHEMA } },
  "reasoning.effort": { reasoning: { effort: "low" } },
  "reasoning.max_tokens": { reasoning: { max_tokens: 9 } },
  "reasoning.summary": { reasoning: { summary: "auto" } },
  verbosity: { verbosity: "low" },
  "reasoning of a turn": turn({ reasoning: "Hm." }),
  "reasoning, sealed": turn({ reasoning: [{ encrypted: "x" }] }),
  "tool_calls of a turn": turn({ tool_calls: [CALL] }),
  "part refusal": { input: [{ role: "assistant", content: [{ type: "refusal", refusal: "No." }] }] },
  "part image": user({ type: "image", url: media("image/png") }),
  "part audio": user({ type: "audio", url: media("audio/wav") }),
  "part file": user({ type: "file", url: media("application/pdf") }),
};

const MODEL = { upstreamModel: "m", continuation: "none", maxTokensField: "max_tokens" } as const;

interface Sent {
  readonly dialect: Dialect;
  /** The place of a field in the upstream's body, and its value if the dialect changes it. */
  readonly place: string;
  readonly isRefused: boolean;
}

function send(fields: object, dialect: Dialect): Sent {
  const request = parseGenerationRequest({ model: "m", input: "x", ...fields });
  const can = capabilitiesOf(dialect);
  const body = toChatRequest(request, NO_PROGRESS, { ...MODEL, dialect });
  const isRefused = needsOf(request).some(({ capability }) => !can.has(capability));
  return { dialect, place: placeOf(body), isRefused };
}

const USUAL = new Set(["model", "messages", "stream", "stream_options", "tools"]);

function placeOf(body: Record<string, unknown>): string {
  const [field] = Object.keys(body).filter((name) => !USUAL.has(name));
  if (field === "tool_choice" && body[field] !== "none") return `tool_choice: ${choiceIn(body[field])}`;
  if (field === "response_format") return `response_format.${Object.keys(body[field] as object).at(-1)}`;
  if (field === "chat_template_kwargs") return `${field}.${Object.keys(body[field] as object).join()}`;
  if (field !== undefined) return field;
  const [message] = body["messages"] as Record<string, unknown>[];
  const { role: _role, content, ...others } = message!;
  const [name] = Object.keys(others);
  if (name !== undefined) return `message.${name}`;
  if (Array.isArray(content)) return `part ${(content[0] as { type: string }).type}`;
  return Object.keys((body["tools"] as { function: object }[])[0]!.function).at(-1)!;
}

function choiceIn(choice: unknown): string {
  return typeof choice === "object" && choice !== null ? "{function}" : String(choice);
}

/** The place that most dialects have, then each other one with its dialects. */
function placesIn(sent: readonly Sent[]): string {
  const places = [...Map.groupBy(sent, ({ place }) => place)].toSorted(([, a], [, b]) => b.length - a.length);
  return places
    .map(([place, of], i) => (i === 0 ? `\`${place}\`` : `\`${place}\` (${namesOf(of)})`))
    .join("; ");
}

const namesOf = (sent: readonly Sent[]) => sent.map(({ dialect }) => dialect).join(", ");

test("the README says what each dialect is sent of each field, and which dialects refuse it", () => {
  const rows = Object.entries(FIELDS).map(([name, fields]) => {
    const sent = DIALECTS.map((dialect) => send(fields, dialect));
    const refused = sent.filter(({ isRefused }) => isRefused);
    const refusing = refused.length === DIALECTS.length ? "all" : namesOf(refused);
    return `| \`${name}\` | ${placesIn(sent)} | ${refusing} |`;
  });
  expect(README).toContain(["| field | sent as | refused for |", "|---|---|---|", ...rows].join("\n"));
});
