import type { Client } from "../client.ts";

type Entry =
  | { readonly type: "input.delta"; readonly text: string }
  | { readonly type: "input.audio"; readonly audio: string }
  | { readonly type: "input.commit" | "input.clear" | "input.end" };

/** State of a generation's input. */
export interface InputState {
  /** The last entry that is stored; 0 for none. */
  readonly stored: number;
  /** The last entry that the output takes account of. */
  readonly consumed: number;
  /** Bytes of text and sound in all of them. */
  readonly bytes: number;
  readonly ended: boolean;
}

/**
 * Streamed input of one generation, sent in the order of the calls. Each call resolves when its entry is stored, and throws RepriseError; what is retryable is
 * repeated, and nothing is stored twice. After an error every further call throws it: continue with another `inputOf`, after the entry that `state` names. An entry has at most 16 KiB of text, as UTF-8, or sound.
 */
export interface GenerationInput {
  text(text: string): Promise<void>;
  /** Sends sound in the format of the create. */
  audio(bytes: Uint8Array): Promise<void>;
  /** Ends a message or an utterance. */
  commit(): Promise<void>;
  /** Takes back what was sent since the last commit. */
  clear(): Promise<void>;
  /** Sends the last entry of all. */
  end(): Promise<void>;
  state(options?: { signal?: AbortSignal }): Promise<InputState>;
}

interface Waiting {
  readonly entry: Entry;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const MAX_ENTRIES = 256;
/** Characters of one call, at which it is sent though more wait: a body has a MiB at most, and a character six bytes if it is escaped. */
const MAX_LENGTH = 128 * 1_024;

/**
 * @param options `stored`: the last entry that is stored already, by `state`, to continue the input of another page or process; default 0. `signal` ends the
 *   sending
 */
export function inputOf(
  { transport }: Client,
  id: string,
  { stored = 0, signal }: { stored?: number; signal?: AbortSignal } = {},
): GenerationInput {
  const path = `/v1/generations/${transport.segment(id)}/input`;
  let waiting: Waiting[] = [];
  let isSending = false;
  let failure: unknown;

  const send = (entry: Entry) =>
    new Promise<void>((resolve, reject) => {
      if (failure !== undefined) return reject(failure);
      waiting.push({ entry, resolve, reject });
      if (!isSending) void sendAll();
    });

  /** One call at a time; what comes meanwhile is sent with the next. */
  async function sendAll(): Promise<void> {
    isSending = true;
    try {
      while (waiting.length > 0) {
        const sent = waiting.slice(0, countFitting(waiting));
        const body = { first: stored + 1, entries: sent.map(({ entry }) => entry) };
        const answer = await transport.call<InputState>(
          { method: "POST", path, body: JSON.stringify(body) },
          signal,
        );
        ({ stored } = answer);
        waiting = waiting.slice(sent.length);
        for (const { resolve } of sent) resolve();
      }
    } catch (error) {
      // Some of it may be stored: further entries could get the numbers of others.
      failure = error;
      for (const { reject } of waiting.splice(0)) reject(error);
    }
    isSending = false;
  }

  return {
    text: (text) => send({ type: "input.delta", text }),
    audio: (bytes) => send({ type: "input.audio", audio: toBase64(bytes) }),
    commit: () => send({ type: "input.commit" }),
    clear: () => send({ type: "input.clear" }),
    end: () => send({ type: "input.end" }),
    state: (options = {}) => transport.call({ method: "GET", path }, options.signal),
  };
}

function countFitting(waiting: readonly Waiting[]): number {
  let length = 0;
  const end = waiting.findIndex(({ entry }) => (length += lengthOf(entry)) > MAX_LENGTH);
  return Math.min(MAX_ENTRIES, end === -1 ? waiting.length : Math.max(1, end));
}

function lengthOf(entry: Entry): number {
  return "text" in entry ? entry.text.length : "audio" in entry ? entry.audio.length : 0;
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
