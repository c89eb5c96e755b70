import type { Seq } from "@reprise/protocol";
import { createSentenceEnds } from "./sentence-ends.ts";

/** One event of a channel, as far as windows are concerned. */
export interface WindowEvent {
  readonly seq: Seq;
  readonly text: string;
  readonly tokens: number;
}

/** The text that a classifier gets in one call: the text of these events of one channel, its overlap with the window before included. */
export interface Window {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  readonly text: string;
}

export interface WindowLimits {
  /** Limit of a whole window, overlap included. Only an event that has more by itself makes a longer one. */
  readonly maxTokens: number;
  /** The next window begins with as many whole events as fit into this. */
  readonly overlapTokens: number;
  /** A sentence that brings fewer new tokens waits for the next one. Default 20. */
  readonly minTokens?: number;
}

export interface Windows {
  /** The first event that the next window may hold, its overlap included. */
  readonly nextFromSeq: Seq | undefined;
  /** The first event that no window has held yet: up to the one before it everything was cut. */
  readonly uncutSeq: Seq | undefined;
  /** @returns the windows that this event closes: at most two, in order */
  push(event: WindowEvent): Window[];
  /** @returns the window that is left, if anything is new in it */
  end(): Window[];
}

const DEFAULT_MIN_TOKENS = 20;
/** A token has hardly ever more characters. Text counts by this at least, so that memory is bounded for any count of an engine. */
const MAX_TOKEN_LENGTH = 16;

/**
 * Cuts one channel of a generation into windows for classifiers: at the end of a sentence, or where a window is full. Whole events
 * alone: every event with text is new in exactly one window. A mark at the end of an event ends its sentence when the next event begins
 * with white space, so such a window closes with that next event. The same events give the same windows, which is how a replica that
 * takes over gets them back. What is kept is never more than one window.
 */
export function createWindows({
  maxTokens,
  overlapTokens,
  minTokens = DEFAULT_MIN_TOKENS,
}: WindowLimits): Windows {
  const sentenceEnds = createSentenceEnds();
  let overlap = NOTHING;
  let fresh = NOTHING;

  function close(): Window[] {
    const events = [...overlap.events, ...fresh.events];
    const [first, last] = [events[0], fresh.events.at(-1)];
    if (first === undefined || last === undefined) return [];
    overlap = tailOf(events, overlapTokens);
    fresh = NOTHING;
    return [{ fromSeq: first.seq, toSeq: last.seq, text: events.map(({ text }) => text).join("") }];
  }

  return {
    get nextFromSeq() {
      return (overlap.events[0] ?? fresh.events[0])?.seq;
    },
    get uncutSeq() {
      return fresh.events[0]?.seq;
    },
    push({ seq, text, tokens: counted }) {
      if (text === "") return [];
      const event = { seq, text, tokens: Math.max(counted, Math.ceil(text.length / MAX_TOKEN_LENGTH)) };
      const ends = sentenceEnds.push(text);
      const overflows = overlap.tokens + fresh.tokens + event.tokens > maxTokens;
      const closed = overflows || (ends.includes(0) && fresh.tokens >= minTokens) ? close() : [];
      // What is new goes before what was seen.
      const room = maxTokens - fresh.tokens - event.tokens;
      if (overlap.tokens > room) overlap = tailOf(overlap.events, room);
      fresh = { events: [...fresh.events, event], tokens: fresh.tokens + event.tokens };
      const isFull = overlap.tokens + fresh.tokens >= maxTokens;
      const hasEnd = ends.some((offset) => offset > 0) && fresh.tokens >= minTokens;
      return isFull || hasEnd ? [...closed, ...close()] : closed;
    },
    end: close,
  };
}

interface Run {
  readonly events: readonly WindowEvent[];
  readonly tokens: number;
}

const NOTHING: Run = { events: [], tokens: 0 };

/** Returns as many of the last events as have at most `maxTokens` together. */
function tailOf(events: readonly WindowEvent[], maxTokens: number): Run {
  let from = events.length;
  let tokens = 0;
  // `from` is from 1 to the number of events.
  while (from > 0 && tokens + events[from - 1]!.tokens <= maxTokens) tokens += events[--from]!.tokens;
  return { events: events.slice(from), tokens };
}
