import type { FinishReason, Priority } from "@reprise/protocol";

/** The state of a fold beside its sketch and its tokens. Numbers and texts only: it is stored as JSON. */
export interface FoldState {
  tenant: string;
  generation: string;
  requestedModel: string;
  model: string | null;
  engine: string | null;
  metadata: Record<string, string>;
  priority: Priority;
  moderationMode: string | null;
  /** Place and time of the last event. */
  lastSeq: number;
  lastAtUs: number;
  createdUs: number;
  startedUs: number | null;
  attemptUs: number | null;
  /** Time of the first output, a delta or a tool call. */
  firstUs: number | null;
  prefillUs: number | null;
  firstTokens: number | null;
  /** Time of the last delta of the turn. */
  chunkUs: number | null;
  waitingSinceUs: number | null;
  /** Calls that no result has answered and no rewind has taken back. */
  pendingCalls: PendingCall[];
  toolWaitUs: number;
  stalls: number;
  stallUs: number;
  attempts: number;
  takeovers: Record<string, number>;
  rewinds: number;
  events: number;
  chunks: number;
  toolCalls: number;
  produced: number;
  reasoning: number;
  inputTokens: number | null;
  cachedInputTokens: number | null;
  redactions: number;
  retractionUs: number | null;
  /** Pairs of a delta's `seq` and when it was stored, of the last ones; kept for moderated generations alone. */
  recent: number[];
  isHalted: boolean;
  reviews: number;
  wasUnmoderated: boolean;
  clockSteps: number;
  isIncomplete: boolean;
  end: FoldedEnd | null;
}

export interface PendingCall {
  readonly id: string;
  readonly seq: number;
}

/** The end of a log. */
export interface FoldedEnd {
  status: "completed" | "failed" | "cancelled";
  finishReason: FinishReason | null;
  code: string | null;
  reason: string | null;
  inputTokens: number | null;
  /** Absent in what earlier versions have kept. */
  estimatedInputTokens?: number | null;
  cachedInputTokens: number | null;
  outputTokens: number;
  reasoningTokens: number | null;
  atUs: number;
}

export function beginState(tenant: string, generation: string): FoldState {
  return {
    tenant,
    generation,
    requestedModel: "",
    model: null,
    engine: null,
    metadata: {},
    priority: "interactive",
    moderationMode: null,
    lastSeq: -1,
    lastAtUs: 0,
    createdUs: 0,
    startedUs: null,
    attemptUs: null,
    firstUs: null,
    prefillUs: null,
    firstTokens: null,
    chunkUs: null,
    waitingSinceUs: null,
    pendingCalls: [],
    toolWaitUs: 0,
    stalls: 0,
    stallUs: 0,
    attempts: 0,
    takeovers: {},
    rewinds: 0,
    events: 0,
    chunks: 0,
    toolCalls: 0,
    produced: 0,
    reasoning: 0,
    inputTokens: null,
    cachedInputTokens: null,
    redactions: 0,
    retractionUs: null,
    recent: [],
    isHalted: false,
    reviews: 0,
    wasUnmoderated: false,
    clockSteps: 0,
    isIncomplete: false,
    end: null,
  };
}

/** State that earlier versions have stored: some fields are absent, calls have no `seq`, and a call was no output. */
export type KeptState = Omit<FoldState, "engine" | "firstTokens" | "pendingCalls"> &
  Partial<Pick<FoldState, "engine" | "firstTokens">> & {
    readonly pendingCalls: readonly (string | PendingCall)[];
  };

/** A copy of a state, in the form of this version. */
export function resumeState(kept: KeptState): FoldState {
  const state: FoldState = {
    ...structuredClone(kept),
    engine: kept.engine ?? null,
    firstTokens: kept.firstTokens ?? null,
    // Not after the last event, as every future rewind is after it.
    pendingCalls: kept.pendingCalls.map((call) =>
      typeof call === "string" ? { id: call, seq: kept.lastSeq } : { ...call },
    ),
  };
  if (state.firstUs !== null || state.toolCalls === 0) return state;
  // All output so far is calls. The first was where all waits together began, if nothing but their turn came since; else before that.
  state.firstUs = (state.waitingSinceUs ?? state.lastAtUs) - state.toolWaitUs;
  state.firstTokens = state.produced;
  const { attemptUs, firstUs } = state;
  state.prefillUs = attemptUs === null || attemptUs > firstUs ? null : firstUs - attemptUs;
  return state;
}
