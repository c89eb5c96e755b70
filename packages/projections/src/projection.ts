import type { GenerationId, KnownEvent, UnixMs, UnknownEvent } from "@reprise/protocol";

/** What a projection knows of a generation before its first event. */
export interface ProjectedRun {
  readonly generation: GenerationId;
  /** As the request names it. */
  readonly model: string;
  /** When the generation was requested. */
  readonly createdAtMs: UnixMs;
}

/** One message of a protocol: one SSE frame. */
export interface Frame {
  /** The SSE event's name, where the protocol names its events. */
  readonly event?: string;
  /** One line. */
  readonly data: string;
}

/** What one event makes of a projection. `frames` is empty for an event that the protocol does not tell. */
export interface Projected<State> {
  readonly state: State;
  readonly frames: readonly Frame[];
}

/**
 * A protocol as a fold over the events of a log, from the first one that readers see (seq 1). It is pure: the same events give the same
 * frames on every node. How many frames an event makes may depend on its type and on what came before, never on its text: text that
 * moderation withdraws later must not move the positions behind it.
 */
export interface Projection<State> {
  /** Names the protocol and the options that change its frames: `openai-chat`, `openai-chat+usage`. */
  readonly name: string;
  /** Whether a state holds nothing of what events say, but for names and numbers. Default: it does hold that, and its memory is counted by it. */
  readonly isTextless?: boolean;
  begin(run: ProjectedRun): State;
  project(state: State, event: KnownEvent | UnknownEvent): Projected<State>;
  /** Whether the protocol's own end is among the frames so far. No stream ends cleanly before. */
  hasEnded(state: State): boolean;
}
