import { LIMITS } from "@reprise/protocol";
import * as z from "zod";
import { clientName } from "../client-name.ts";

/*
 * `RunAgentInput` of AG-UI 1.0, field by field. Unlike the protocol's own schema it is strict: a field that is not here is refused by its name. Those that
 * change nothing are here, and the table in README.md lists them.
 */

const id = z.string();
const source = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("data"), value: z.string(), mimeType: z.string() }),
  z.strictObject({ type: z.literal("url"), value: z.string(), mimeType: z.string().optional() }),
  z.strictObject({
    type: z.literal("file"),
    value: z.string(),
    provider: z.string().optional(),
    mimeType: z.string().optional(),
  }),
]);
export type Source = z.infer<typeof source>;

const ignoredOfPart = { id: id.optional(), metadata: z.unknown().optional() };
const part = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("text"), text: z.string(), ...ignoredOfPart }),
    z.strictObject({ type: z.literal("image"), source, ...ignoredOfPart }),
    z.strictObject({ type: z.literal("audio"), source, ...ignoredOfPart }),
    z.strictObject({ type: z.literal("document"), source, ...ignoredOfPart }),
  ],
  { error: "must be a part {type: text | image | audio | document, …}" },
);
export type Part = z.infer<typeof part>;
const content = z.union([z.string(), z.array(part).min(1).max(LIMITS.parts)], {
  error: `must be a text, or 1 to ${LIMITS.parts} parts`,
});

const ignored = {
  id,
  name: z.string().optional(),
  metadata: z.unknown().optional(),
  subagentRunId: z.string().optional(),
};
const encryptedValue = z.string().optional();

const call = z.strictObject({
  id,
  type: z.literal("function"),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
  encryptedValue,
  metadata: z.unknown().optional(),
});

const message = z.discriminatedUnion(
  "role",
  [
    z.strictObject({ role: z.literal("developer"), content: z.string(), encryptedValue, ...ignored }),
    z.strictObject({ role: z.literal("system"), content: z.string(), encryptedValue, ...ignored }),
    z.strictObject({ role: z.literal("user"), content, encryptedValue, ...ignored }),
    z.strictObject({
      role: z.literal("assistant"),
      content: z.string().optional(),
      toolCalls: z.array(call).max(LIMITS.tools).optional(),
      encryptedValue,
      ...ignored,
    }),
    z.strictObject({
      role: z.literal("tool"),
      toolCallId: z.string(),
      content,
      error: z.string().optional(),
      encryptedValue,
      ...ignored,
    }),
    z.strictObject({ role: z.literal("reasoning"), content: z.string(), encryptedValue, ...ignored }),
    z.strictObject({
      role: z.literal("activity"),
      activityType: z.string(),
      content: z.record(z.string(), z.unknown()),
      ...ignored,
    }),
  ],
  { error: "must have a role: developer, system, user, assistant, tool, reasoning or activity" },
);
export type InputMessage = z.infer<typeof message>;

const tool = z.strictObject({
  name: z.string(),
  description: z.string(),
  parameters: z.unknown().optional(),
  metadata: z.unknown().optional(),
});

const props = z.record(z.string(), z.unknown());

/** More than a native request has: reasoning and activities are no messages of it. */
const MOST_MESSAGES = 4_096;
const MOST_CONTEXTS = 1_024;

/** Both names become part of the request's metadata. */
const name = clientName(512);

export const runInputSchema = z.strictObject({
  threadId: name,
  runId: name,
  parentRunId: z.string().optional(),
  protocolVersion: z.string().optional(),
  messages: z.array(message).min(1).max(MOST_MESSAGES),
  tools: z.array(tool).max(LIMITS.tools).default([]),
  context: z
    .array(z.strictObject({ description: z.string(), value: z.string() }))
    .max(MOST_CONTEXTS)
    .default([]),
  forwardedProps: props.nullish(),
  state: z.unknown().optional(),
  resume: z.array(z.unknown()).optional(),
});
export type RunInput = z.infer<typeof runInputSchema>;

/** TanStack AI sends its `forwardedProps` a second time as `data`, for servers of earlier versions. */
export const tanstackInputSchema = runInputSchema.extend({ data: props.nullish() });
