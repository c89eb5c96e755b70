import { LIMITS } from "@reprise/protocol";
import * as fc from "fast-check";

/* Bodies of `POST /v1/generations` that are taken: every field, beside others. */

const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/);
export const text = fc.string({ minLength: 1, maxLength: 20 });
const open = { requiredKeys: [] };

const rule = fc.oneof(
  fc.constantFrom("cards", "secrets", "personal-data"),
  fc.record({
    set: fc.constantFrom("cards", "secrets"),
    action: fc.constantFrom("flag", "redact", "review", "halt"),
  }),
  fc.record({ terms: fc.array(text, { minLength: 1, maxLength: 3 }), name }),
  fc.record({ pattern: text, max_length: fc.integer({ min: 1, max: 1_024 }) }),
  fc.record({ classifier: name, threshold: fc.double({ min: 0, max: 1, noNaN: true }) }),
);
const policy = fc.record(
  {
    max_attempts: fc.integer({ min: 1, max: 10 }),
    on_worker_loss: fc.constantFrom("continue", "restart", "fail"),
    on_disconnect: fc.oneof(fc.constant("keep"), fc.record({ cancel_after: fc.nat(86_400_000) })),
    timeouts: fc.record({ queue: fc.record({ after_ms: fc.integer({ min: 1, max: 86_400_000 }) }) }, open),
    pace: fc.record({ max_lead_tokens: fc.integer({ min: 1, max: 1_000_000 }) }),
    chunking: fc.oneof(
      fc.constantFrom("auto", "off"),
      fc.record({
        max_ms: fc.integer({ min: 1, max: 1_000 }),
        max_tokens: fc.integer({ min: 1, max: 1_000 }),
      }),
    ),
    delivery: fc.record({ min_interval_ms: fc.nat(10_000) }),
    moderation: fc.record(
      { mode: fc.constantFrom("off", "observe", "retract", "gate"), rules: fc.array(rule, { maxLength: 3 }) },
      open,
    ),
  },
  open,
);

const textPart = fc.record({ type: fc.constant("text"), text: fc.string() });
const bytes = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((array) => Buffer.from(array).toString("base64"));

/** Where the bytes of a part are: one of the three ways. */
function placed(type: "image" | "audio" | "file", mediaTypes: readonly string[], others: object = {}) {
  const url = fc.oneof(
    fc
      .tuple(fc.constantFrom(...mediaTypes), bytes)
      .map(([media, base64]) => `data:${media};base64,${base64}`),
    text.map((path) => `https://example.com/${encodeURIComponent(path.toWellFormed())}`),
  );
  const blob = fc.stringMatching(/^blob_[0-9a-v]{4}$/).map((id) => id.padEnd(31, "a"));
  return fc
    .tuple(fc.oneof(fc.record({ url }), fc.record({ blob })), fc.record(others, open))
    .map(([place, fields]) => ({ type, ...place, ...fields }));
}

const mediaPart = fc.oneof(
  placed("image", ["image/png", "image/svg+xml"], { detail: fc.constantFrom("auto", "low", "high") }),
  placed("audio", ["audio/wav", "audio/mpeg"]),
  placed("file", ["application/pdf", "text/plain"], { name: text }),
);
const parts = fc.array(fc.oneof(textPart, mediaPart), { minLength: 1, maxLength: 3 });
const textParts = fc.array(textPart, { minLength: 1, maxLength: 3 });
const assistantParts = fc.array(
  fc.oneof(textPart, fc.record({ type: fc.constant("refusal"), refusal: fc.string() })),
  { minLength: 1, maxLength: 3 },
);

const reasoningItem = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record(
    { encrypted: text, id: text, summary: fc.array(fc.string(), { maxLength: 2 }) },
    { requiredKeys: ["encrypted"] },
  ),
);
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer"), content: fc.oneof(fc.string(), textParts) }),
  fc.record({ role: fc.constant("user"), content: fc.oneof(fc.string(), parts) }),
  fc.record(
    {
      role: fc.constant("assistant"),
      content: fc.oneof(fc.string(), assistantParts),
      reasoning: fc.oneof(fc.string(), fc.array(reasoningItem, { minLength: 1, maxLength: 2 })),
    },
    { requiredKeys: ["role", "content"] },
  ),
);

const calls = fc.array(
  fc.record({
    name,
    arguments: fc.oneof(fc.json(), fc.string()),
    answer: fc.constantFrom("none", "output", "parts"),
  }),
  { minLength: 1, maxLength: 3 },
);

/** A turn that asks for tools, and answers to some of its calls. Ids are unique by `at`, the place of the turn in the history. */
const callingTurn = fc
  .tuple(calls, fc.jsonValue({ maxDepth: 4 }), parts, fc.option(fc.string(), { nil: undefined }))
  .map(([asked, output, content, said]) => (at: number) => {
    const named = asked.map((call, i) => ({ ...call, call_id: `call_${at}_${i}` }));
    const tool_calls = named.map(({ call_id, name: of, arguments: args }) => ({
      call_id,
      name: of,
      arguments: args,
    }));
    const answers = named.flatMap(({ call_id, answer }) => {
      if (answer === "none") return [];
      return [{ role: "tool", call_id, ...(answer === "output" ? { output } : { content }) }];
    });
    return [{ role: "assistant", ...(said !== undefined && { content: said }), tool_calls }, ...answers];
  });

export const history = fc
  .array(
    fc.oneof(
      message.map((each) => () => [each]),
      callingTurn,
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((turns) => turns.flatMap((turn, at): object[] => turn(at)));

const schema = fc.oneof(
  fc.constantFrom({}, { type: "object" }, { type: "object", properties: { a: { type: "integer" } } }),
  fc.dictionary(text, fc.jsonValue({ maxDepth: 4 })),
);
const responseFormat = fc.oneof(
  fc.constantFrom({ type: "text" }, { type: "json_object" }),
  fc.record(
    { type: fc.constant("json_schema"), schema, name, description: fc.string(), strict: fc.boolean() },
    { requiredKeys: ["type", "schema"] },
  ),
);

const share = fc.double({ min: 0, minExcluded: true, max: 1, noNaN: true });
const penalty = fc.double({ min: -LIMITS.penalty, max: LIMITS.penalty, noNaN: true });
const sampling = {
  temperature: fc.double({ min: 0, max: LIMITS.temperature, noNaN: true }),
  top_p: share,
  top_k: fc.integer({ min: 1, max: LIMITS.topK }),
  min_p: fc.double({ min: 0, max: 1, noNaN: true }),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  repetition_penalty: fc.double({ min: 0, minExcluded: true, max: LIMITS.repetitionPenalty, noNaN: true }),
  logit_bias: fc.dictionary(
    fc.nat(999_999_999).map(String),
    fc.double({ min: -LIMITS.logitBias, max: LIMITS.logitBias, noNaN: true }),
    { maxKeys: 3 },
  ),
  logprobs: fc.nat(LIMITS.logprobs),
};

const tool = fc.record(
  {
    type: fc.constant("function"),
    name,
    description: text,
    parameters: fc.dictionary(text, fc.jsonValue()),
    strict: fc.boolean(),
  },
  { requiredKeys: ["name"] },
);
const tools = fc
  .uniqueArray(tool, { selector: (each) => each.name, minLength: 1, maxLength: 3 })
  .chain((all) => {
    const one = fc.constantFrom(...all).map(({ name: of }) => ({ name: of }));
    return fc.record(
      {
        tools: fc.constant(all),
        tool_choice: fc.oneof(fc.constantFrom("auto", "none", "required"), one),
        parallel_tool_calls: fc.boolean(),
      },
      { requiredKeys: ["tools"] },
    );
  });

/** A tier with its corresponding priority, or either alone. */
const service = fc.constantFrom<object>(
  { service_tier: "auto", priority: "batch" },
  { service_tier: "flex", priority: "batch" },
  { service_tier: "default", priority: "interactive" },
  { service_tier: "flex" },
  { service_tier: "priority" },
  { priority: "batch" },
);

const answer = {
  tool_calls: fc.constantFrom("wait", "end"),
  response_format: responseFormat,
  reasoning: fc.record(
    {
      effort: fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh"),
      max_tokens: fc.integer({ min: 1, max: LIMITS.outputTokens }),
      summary: fc.constantFrom("auto", "concise", "detailed"),
    },
    open,
  ),
  verbosity: fc.constantFrom("low", "medium", "high"),
  max_output_tokens: fc.integer({ min: 1, max: LIMITS.outputTokens }),
  stop: fc.array(text, { minLength: 1, maxLength: LIMITS.stopSequences }),
  seed: fc.nat(LIMITS.seed),
};
const about = {
  options: fc.dictionary(text, fc.jsonValue({ maxDepth: 3 })),
  metadata: fc.dictionary(text, fc.string(), { maxKeys: 4 }),
  subject: text,
  end_user: name,
  policy,
};

/** A group of fields in one request of three: with all of them in each, making requests takes longer than parsing them. */
const sometimes = (fields: fc.Arbitrary<object>) => fc.option(fields, { freq: 2, nil: {} });

const turn = fc.record(
  {
    conversation: fc.constant(`conv_${"0".repeat(26)}`),
    previous_generation: fc.constant(`gen_0_${"0".repeat(26)}`),
  },
  { requiredKeys: ["conversation"] },
);

export const anyRequest = fc
  .tuple(
    fc.record({
      model: fc.constantFrom("sim", "meta-llama/Llama-3.1", "🙂"),
      input: fc.oneof(text, history),
    }),
    fc.option(turn, { freq: 4, nil: {} }),
    ...[fc.record(sampling, open), tools, fc.record(answer, open), service, fc.record(about, open)].map(
      sometimes,
    ),
  )
  .map((groups) => Object.assign({}, ...groups) as object);
