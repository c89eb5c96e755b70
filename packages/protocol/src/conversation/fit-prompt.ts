import { RepriseError } from "../errors/reprise-error.ts";
import type { RequestedEvent } from "../event/event.ts";
import { partsOf } from "../request/fields/input.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { usesIn } from "./lost-media.ts";
import type { Prompt, PromptSegment } from "../event/shapes/prompt.ts";
import type { FullPolicy } from "../request/when-full.ts";

/** Limits of a prompt. */
export interface PromptRoom {
  /** UTF-8 bytes, as JSON, that seq 0 has for it. */
  readonly bytes: number;
  /** Tokens of the model's context, without those kept for its answer and the new input; undefined: unknown. */
  readonly tokens: number | undefined;
  /** Tokens of the whole prompt, as an engine has counted them; undefined: unknown. */
  readonly counted: number | undefined;
  /** Media that a request may name, less those that the new turn names. */
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
  /** Number of turns left out. */
  readonly dropped: number;
  readonly bytes: number;
}

const BYTES_PER_TOKEN = 4;

/**
 * The part of a prompt that fits. Where it does not, and the policy says so, the oldest turns are left out until half of the room is free:
 * the first bytes of the next prompts are then the same again for many turns, and the engine's cache holds.
 * @throws RepriseError `conversation_full`
 */
export function fitPrompt(prompt: Prompt, room: PromptRoom, policy: FullPolicy): Fitted {
  if (prompt.length === 0) return { prompt, left: [], dropped: 0, bytes: 0 };
  const use = new PromptUse(prompt, room);
  if (use.isWithin(1)) return { prompt, left: [], dropped: 0, bytes: use.bytes };
  if (policy === "error") throw use.full();
  const left = use.leaveOldest();
  if (!use.isWithin(1)) throw use.full();
  const gone = new Set(left);
  return {
    prompt: prompt.filter((segment) => !gone.has(segment)),
    left,
    dropped: left.length,
    bytes: use.bytes,
  };
}

/** Returns the oldest turns of a prompt, without which half of the room is free. */
export function turnsBeyondHalf(prompt: Prompt, room: PromptRoom): Prompt {
  return new PromptUse(prompt, room).leaveOldest();
}

/** Measures a prompt against its room while its oldest turns are left out. */
class PromptUse {
  readonly #prompt: Prompt;
  readonly #room: PromptRoom;
  readonly #media: MediaUse;
  readonly #tokensPerByte: number;
  bytes: number;

  constructor(prompt: Prompt, room: PromptRoom) {
    this.#prompt = prompt;
    this.#room = room;
    this.#media = new MediaUse(prompt, room.media);
    this.bytes = prompt.reduce((total, segment) => total + bytesOf(segment), 0);
    // An engine's count is worth more than a guess from bytes.
    const isCounted = room.counted !== undefined && this.bytes > 0;
    this.#tokensPerByte = isCounted ? room.counted / this.bytes : 1 / BYTES_PER_TOKEN;
  }

  isWithin(share: number): boolean {
    const { bytes, tokens, media } = this.#room;
    return (
      this.bytes <= bytes * share &&
      (tokens === undefined || this.#tokens <= tokens * share) &&
      this.#media.references <= media.references * share &&
      this.#media.bytes <= media.bytes * share
    );
  }

  leaveOldest(): PromptSegment[] {
    const left: PromptSegment[] = [];
    for (const segment of this.#prompt) {
      if (this.isWithin(0.5)) break;
      if (isPinned(segment)) continue;
      left.push(segment);
      this.bytes -= bytesOf(segment);
      this.#media.leaveOut(segment);
    }
    return left;
  }

  full(): RepriseError {
    const { bytes, tokens, media } = this.#room;
    const has = [`about ${Math.ceil(this.#tokens)} tokens, ${this.bytes} bytes`];
    const may = [
      ...(tokens === undefined ? [] : [`${Math.max(0, Math.floor(tokens))} tokens`]),
      `${Math.max(0, bytes)} bytes`,
    ];
    if (this.#media.references > 0) {
      has.push(` and ${this.#media.references} blobs of ${this.#media.bytes} bytes`);
      may.push(`${Math.max(0, media.references)} blobs of ${Math.max(0, media.bytes)} bytes`);
    }
    const message = `The conversation so far takes ${has.join("")}; there is room for ${may.join(" and ")} beside the new turn.`;
    return new RepriseError("conversation_full", message, { param: "conversation" });
  }

  get #tokens(): number {
    return this.bytes * this.#tokensPerByte;
  }
}

/**
 * Returns the media that one request may name, less those that a turn's own input names. Blobs count once each; bytes count for each part that names one, as
 * they are sent to the engine.
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

/** Media that turns name together. */
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

/** Returns true for instructions and summaries, which are never left out. */
export function isPinned(segment: PromptSegment): boolean {
  return isInstructions(segment) || segment.summary === true;
}

/** Names a turn's or an imported segment in its conversation. */
export function segmentId({ generation, imported }: PromptSegment): string {
  return generation ?? `items.${imported}`;
}

/** Those that a conversation begins with. */
export function isInstructions({ generation, imported }: PromptSegment): boolean {
  return generation === undefined && imported === undefined;
}

/** Returns the UTF-8 bytes of a segment, as JSON. */
export function bytesOf(segment: PromptSegment): number {
  return new TextEncoder().encode(JSON.stringify(segment)).length;
}
