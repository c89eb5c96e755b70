import type { GenerationId, KnownEvent, UnixMs, UnknownEvent } from "@reprise/protocol";

/** Facts about a generation that a projection has before its first event. */
export interface ProjectedRun {
  readonly generation: GenerationId;
  /** Name of the model, as in the request. */
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

/** Result of one event for a projection. `frames` is empty for an event that the protocol does not represent. */
export interface Projected<State> {
  readonly state: State;
  readonly frames: readonly Frame[];
}

/**
 * A protocol as a fold over the events of a log, from the first one that readers see (seq 1). It is pure: the same events give the same frames on every
 * node. The number of frames of an event may depend on its type and on earlier events, never on its text: text that moderation withdraws later must not
 * move the positions after it.
 */
export interface Projection<State> {
  /** Names the protocol and the options that change its frames: `openai-chat`, `openai-chat+usage`. */
  readonly name: string;
  /** True if a state holds no content of events except names and numbers. Default: it does hold content, and its memory is counted by that. */
  readonly isTextless?: boolean;
  begin(run: ProjectedRun): State;
  project(state: State, event: KnownEvent | UnknownEvent): Projected<State>;
  /** True if the protocol's own end is among the frames so far. No stream ends cleanly before. */
  hasEnded(state: State): boolean;
}
