import { RepriseError } from "../errors/reprise-error.ts";
import type { RequestedEvent } from "../event/event.ts";
import { partsOf } from "../request/fields/input.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { usesIn } from "./lost-media.ts";
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
    /** The bytes of each blob that is known. */
    readonly sizes: ReadonlyMap<string, number>;
    /** The blobs that the new turn names: they are no further references. */
    readonly own: ReadonlySet<string>;
  };
}

interface Fitted {
  /** The same one where it fits. */
  readonly prompt: Prompt;
  /** The turns that are left out. */
  readonly left: Prompt;
  /** How many these are. */
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
  if (prompt.length === 0) return { prompt, left: [], dropped: 0, bytes: 0 };
  const bytes = prompt.map((segment) => bytesOf(segment));
  const all = sum(bytes);
  // A count of the engine's is worth more than a guess from bytes.
  const tokensPerByte = room.counted === undefined || all === 0 ? 1 / BYTES_PER_TOKEN : room.counted / all;
  const media = new MediaUse(prompt, room.media);
  const used = (size: number): Use => ({
    bytes: size,
    tokens: size * tokensPerByte,
    references: media.references,
    mediaBytes: media.bytes,
  });
  if (isWithin(used(all), room, 1)) return { prompt, left: [], dropped: 0, bytes: all };
  if (policy === "error") throw full(used(all), room);
  const kept = new Set(prompt.keys());
  let left = all;
  for (const [i, segment] of prompt.entries()) {
    if (isWithin(used(left), room, 0.5)) break;
    if (isPinned(segment)) continue;
    kept.delete(i);
    left -= bytes[i] ?? 0;
    media.leaveOut(segment);
  }
  if (!isWithin(used(left), room, 1)) throw full(used(left), room);
  const gone = prompt.filter((_, i) => !kept.has(i));
  return { prompt: prompt.filter((_, i) => kept.has(i)), left: gone, dropped: gone.length, bytes: left };
}

/**
 * What one request may name, without what a turn's own input names: blobs each once, and bytes for each part that names one, as the engine is sent them.
 * @param media of the prompt and the input, as far as it is known
 */
export function mediaRoomOf({
  request,
  media = {},
}: Pick<RequestedEvent, "request" | "media">): PromptRoom["media"] {
  const sizes = new Map(Object.entries(media).map(([reference, { bytes }]) => [reference, bytes]));
  const named = Array.from(usesIn(partsOf(request.input)));
  const own = new Set(named);
  let bytes: number = LIMITS.mediaBytes;
  for (const reference of named) bytes -= sizes.get(reference) ?? 0;
  return { references: LIMITS.mediaReferences - own.size, bytes, sizes, own };
}

/** What turns name together. */
class MediaUse {
  readonly #room: PromptRoom["media"];
  readonly #uses = new Map<string, number>();
  references = 0;
  bytes = 0;

  constructor(prompt: Prompt, room: PromptRoom["media"]) {
    this.#room = room;
    for (const segment of prompt) this.#change(segment, 1);
  }

  leaveOut(segment: PromptSegment): void {
    this.#change(segment, -1);
  }

  #change({ items }: PromptSegment, by: 1 | -1): void {
    for (const blob of usesIn(partsOf(items))) {
      const size = this.#room.sizes.get(blob);
      if (size === undefined) continue;
      const before = this.#uses.get(blob) ?? 0;
      this.#uses.set(blob, before + by);
      this.bytes += by * size;
      const isFirstOrLast = before === 0 || before + by === 0;
      if (isFirstOrLast && !this.#room.own.has(blob)) this.references += by;
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

/** Instructions and summaries stay, whatever else is left out. */
function isPinned(segment: PromptSegment): boolean {
  return isInstructions(segment) || segment.summary === true;
}

/** Those that a conversation begins with. */
export function isInstructions({ generation, imported }: PromptSegment): boolean {
  return generation === undefined && imported === undefined;
}

/** Of UTF-8, as JSON. */
export function bytesOf(segment: PromptSegment): number {
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
