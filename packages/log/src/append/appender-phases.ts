import { RepriseError } from "@reprise/protocol";

/**
 * The phases of an appender, and its phase after each input that a phase can have. In a running phase the appender does one thing, which
 * ends with one of these inputs. `work` (a draft was queued, or a read asked for) comes at any time, and `ready` finds it.
 */
const TRANSITIONS = {
  /** Everything that was appended is stored. */
  idle: { work: "ready" },
  /** Chooses what comes next. */
  ready: { work: "ready", draft: "publishing", read: "catching_up", nothing: "idle", ended: "ended" },
  /** Publishes a draft behind the head. */
  publishing: {
    work: "publishing",
    stored: "ready",
    /** No server that could store it has received it. */
    unheard: "backing_off",
    conflict: "conflicted",
    unacknowledged: "unacknowledged",
    ended: "ended",
  },
  /** Reads what the leader has behind the head, since the expectation of the publish was refused. */
  conflicted: {
    work: "conflicted",
    landed: "ready",
    absent: "backing_off",
    no_leader: "rereading",
    ended: "ended",
  },
  /** Reads the same, since the publish was not acknowledged. If there is no leader, the next publish finds out as well. */
  unacknowledged: {
    work: "unacknowledged",
    landed: "ready",
    absent: "backing_off",
    no_leader: "backing_off",
    ended: "ended",
  },
  /** Pauses before it publishes again. */
  backing_off: { work: "backing_off", waited: "publishing", ended: "ended" },
  /** Pauses before it reads again. */
  rereading: { work: "rereading", waited: "conflicted", ended: "ended" },
  /** Reads what other writers have stored. */
  catching_up: { work: "catching_up", caught_up: "ready", ended: "ended" },
  /** Was fenced or rolled back, or has failed. */
  ended: { work: "ended" },
} as const satisfies Record<string, Record<string, string>>;

type Transitions = typeof TRANSITIONS;

export type AppenderPhase = keyof Transitions;
/** A phase in which the appender does something. */
export type RunningPhase = Exclude<AppenderPhase, "idle" | "ended">;
type InputOf<Phase extends AppenderPhase> = Phase extends AppenderPhase ? keyof Transitions[Phase] : never;
export type AppenderInput = InputOf<AppenderPhase>;

/**
 * The phase after an input. Entering a phase is the only effect, so a transition allocates nothing.
 * @throws RepriseError `internal` for an input that the phase cannot have
 */
export function next(phase: AppenderPhase, input: AppenderInput): AppenderPhase {
  const inputs: { readonly [Input in AppenderInput]?: AppenderPhase } = TRANSITIONS[phase];
  const after = inputs[input];
  if (after === undefined)
    throw new RepriseError("internal", `An appender that is ${phase} has no transition for ${input}.`);
  return after;
}

export function isRunning(phase: AppenderPhase): phase is RunningPhase {
  return phase !== "idle" && phase !== "ended";
}
