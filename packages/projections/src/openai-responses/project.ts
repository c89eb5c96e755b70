import { toLineJson } from "@reprise/protocol";
import { isUntold } from "../is-untold.ts";
import type { Frame, ProjectedRun, Projection } from "../projection.ts";
import { type Ending, endingOf, RESTARTED } from "./ending.ts";
import { close, emptyOutput, itemsOf, type Output, tell } from "./output/output.ts";
import type { Step } from "./output/items.ts";
import { type ResponseNow, toResponse } from "./response.ts";

export interface ResponsesState {
  readonly run: ProjectedRun;
  readonly phase: "new" | "created" | "in_progress" | "ended";
  /** The number of the next event of the protocol: how many there were. */
  readonly sequence: number;
  readonly output: Output;
  /** The last event of the log that an item tells of. */
  readonly toldSeq: number;
  readonly halted: boolean;
  readonly refused: boolean;
}

/** The events of OpenAI's Responses API. `sequence_number` is the number of the frame, from 0. */
export const openaiResponses: Projection<ResponsesState> = {
  name: "openai-responses",
  begin: (run) => ({
    run,
    phase: "new",
    sequence: 0,
    output: emptyOutput(run.generation),
    toldSeq: 0,
    halted: false,
    refused: false,
  }),
  project(state, event) {
    if (state.phase === "ended" || isUntold(event)) return { state, frames: NONE };
    const told = tell(state.output, event);
    if (told) {
      const refused = state.refused || event.type === "refusal.delta";
      const begun = begin(state);
      const next = { ...begun.state, output: told.output, toldSeq: event.seq, refused };
      return numbered(next, begun.steps.length === 0 ? told.steps : [...begun.steps, ...told.steps]);
    }
    switch (event.type) {
      case "generation.started": {
        const begun = begin(state);
        if (begun.state.phase === "in_progress") return numbered(begun.state, begun.steps);
        const next = { ...begun.state, phase: "in_progress" as const };
        return numbered(next, [
          ...begun.steps,
          lifecycle("response.in_progress", next, { status: "in_progress" }),
        ]);
      }
      case "moderation.halted":
        return { state: { ...state, halted: true }, frames: NONE };
      case "output.rewind":
        if (state.toldSeq <= event.to_seq) return { state, frames: NONE };
        return end(state, RESTARTED);
      default:
        break;
    }
    const ending = endingOf(event, state);
    return ending ? end(state, ending) : { state, frames: NONE };
  },
  hasEnded: ({ phase }) => phase === "ended",
};

const NONE: readonly Frame[] = [];

interface Begun {
  readonly state: ResponsesState;
  readonly steps: readonly Step[];
}

/** The first event of the protocol, before any other. */
function begin(state: ResponsesState): Begun {
  if (state.phase !== "new") return { state, steps: [] };
  const next = { ...state, phase: "created" as const };
  return { state: next, steps: [lifecycle("response.created", next, { status: "queued" })] };
}

function end(state: ResponsesState, { type, itemStatus, ...ending }: Ending) {
  const begun = begin(state);
  const { output, steps } = close(begun.state.output, itemStatus);
  const next = { ...begun.state, phase: "ended" as const, output };
  return numbered(next, [...begun.steps, ...steps, lifecycle(type, next, ending)]);
}

function lifecycle(type: string, { run, output }: ResponsesState, now: Omit<ResponseNow, "output">): Step {
  return { type, response: toResponse(run, { ...now, output: itemsOf(output) }) };
}

function numbered(
  state: ResponsesState,
  steps: readonly Step[],
): { state: ResponsesState; frames: readonly Frame[] } {
  const frames = steps.map(({ type, ...fields }, i) => ({
    event: type,
    data: toLineJson({ type, sequence_number: state.sequence + i, ...fields }),
  }));
  return { state: { ...state, sequence: state.sequence + steps.length }, frames };
}
