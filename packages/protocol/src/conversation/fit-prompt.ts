import { RepriseError } from "../errors/reprise-error.ts";
import type { RequestedEvent } from "../event/event.ts";
import { isMediaPart, referenceOf } from "../request/fields/content-part.ts";
import { partsOf } from "../request/fields/input.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { blobsIn } from "./lost-media.ts";
import type { Prompt, PromptSegment } from "./prompt-schema.ts";
import type { FullPolicy } from "./when-full.ts";

/** What a prompt may take. */
export interface PromptRoom {
  /** Of UTF-8, as JSON: what seq 0 has for it. */
  readonly bytes: number;
  /** Of the model's context, without what is kept for its answer and what is new; undefined: not known. */
  readonly tokens: number | undefined;
  /** How many tokens the whole prompt has by an engine's own count; undefined: not known. */
  readonly counted: number | undefined;
  /** Of what a request may name, without what the new turn names. */
  readonly media: {
    readonly references: number;
    readonly bytes: number;
    /** The bytes of each blob that earlier turns name and the new one does not. */
    readonly sizes: ReadonlyMap<string, number>;
  };
}

interface Fitted {
  /** The same one where it fits. */
  readonly prompt: Prompt;
  /** How many turns are left out. */
  readonly dropped: number;
  readonly bytes: number;
}

/** What some turns take. */
interface Use {
  readonly bytes: number;
  readonly tokens: number;
  readonly references: number;
  readonly mediaBytes: number;
}

const BYTES_PER_TOKEN = 4;

/**
 * The part of a prompt that fits. Where it does not, and the policy says so, the oldest turns are left out until half of the room is free:
 * the first bytes of the next prompts are then the same again for many turns, and the engine's cache holds.
 * @throws RepriseError `conversation_full`
 */
export function fitPrompt(prompt: Prompt, room: PromptRoom, policy: FullPolicy): Fitted {
  if (prompt.length === 0) return { prompt, dropped: 0, bytes: 0 };
  const bytes = prompt.map((segment) => bytesOf(segment));
  const all = sum(bytes);
  // A count of the engine's is worth more than a guess from bytes.
  const tokensPerByte = room.counted === undefined || all === 0 ? 1 / BYTES_PER_TOKEN : room.counted / all;
  const media = new MediaUse(prompt, room.media.sizes);
  const used = (size: number): Use => ({
    bytes: size,
    tokens: size * tokensPerByte,
    references: media.references,
    mediaBytes: media.bytes,
  });
  if (isWithin(used(all), room, 1)) return { prompt, dropped: 0, bytes: all };
  if (policy === "error") throw full(used(all), room);
  const kept = new Set(prompt.keys());
  let left = all;
  for (const [i, segment] of prompt.entries()) {
    if (isWithin(used(left), room, 0.5)) break;
    if (segment.generation === undefined && segment.imported === undefined) continue;
    kept.delete(i);
    left -= bytes[i] ?? 0;
    media.leaveOut(segment);
  }
  if (!isWithin(used(left), room, 1)) throw full(used(left), room);
  const dropped = prompt.length - kept.size;
  return { prompt: prompt.filter((_, i) => kept.has(i)), dropped, bytes: left };
}

/**
 * What one request may name, without what a turn's own input names.
 * @param media of the prompt and the input, as far as it is known
 */
export function mediaRoomOf({
  request,
  media = {},
}: Pick<RequestedEvent, "request" | "media">): PromptRoom["media"] {
  const own = new Set<string>();
  for (const { part } of partsOf(request.input)) {
    const reference = isMediaPart(part) ? referenceOf(part) : undefined;
    if (reference !== undefined) own.add(reference);
  }
  const sizes = new Map(Object.entries(media).map(([reference, { bytes }]) => [reference, bytes]));
  let bytes: number = LIMITS.mediaBytes;
  for (const reference of own) {
    bytes -= sizes.get(reference) ?? 0;
    sizes.delete(reference);
  }
  return { references: LIMITS.mediaReferences - own.size, bytes, sizes };
}

/** What turns name together: a blob that several of them name counts once. */
class MediaUse {
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #uses = new Map<string, number>();
  references = 0;
  bytes = 0;

  constructor(prompt: Prompt, sizes: ReadonlyMap<string, number>) {
    this.#sizes = sizes;
    for (const segment of prompt) this.#change(segment, 1);
  }

  leaveOut(segment: PromptSegment): void {
    this.#change(segment, -1);
  }

  #change(segment: PromptSegment, by: 1 | -1): void {
    for (const blob of blobsIn(segment)) {
      const size = this.#sizes.get(blob);
      if (size === undefined) continue;
      const before = this.#uses.get(blob) ?? 0;
      this.#uses.set(blob, before + by);
      if (before + by > 0 && before > 0) continue;
      this.references += by;
      this.bytes += by * size;
    }
  }
}

function isWithin(use: Use, { bytes, tokens, media }: PromptRoom, share: number): boolean {
  return (
    use.bytes <= bytes * share &&
    (tokens === undefined || use.tokens <= tokens * share) &&
    use.references <= media.references * share &&
    use.mediaBytes <= media.bytes * share
  );
}

function bytesOf(segment: PromptSegment): number {
  return new TextEncoder().encode(JSON.stringify(segment)).length;
}

function full(use: Use, { bytes, tokens, media }: PromptRoom): RepriseError {
  const has = [`about ${Math.ceil(use.tokens)} tokens, ${use.bytes} bytes`];
  const may = [
    ...(tokens === undefined ? [] : [`${Math.max(0, Math.floor(tokens))} tokens`]),
    `${Math.max(0, bytes)} bytes`,
  ];
  if (use.references > 0) {
    has.push(` and ${use.references} blobs of ${use.mediaBytes} bytes`);
    may.push(`${Math.max(0, media.references)} blobs of ${Math.max(0, media.bytes)} bytes`);
  }
  const message = `The conversation so far takes ${has.join("")}; there is room for ${may.join(" and ")} beside the new turn.`;
  return new RepriseError("conversation_full", message, { param: "conversation" });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
