import type { KnownEvent, UnknownEvent } from "@reprise/protocol";
import type { ProjectedRun } from "../projection.ts";
import { type Ending, endingOf } from "./ending.ts";
import { Growing } from "../growing.ts";
import type { Item } from "./output/items.ts";
import { close, emptyOutput, itemsOf, type Output, tell } from "./output/output.ts";
import { type CreatedWith, toResponse } from "./response.ts";

/** The content of a log so far, for an answer that is one body. */
export interface AnswerState {
  readonly run: ProjectedRun;
  readonly started: boolean;
  /** The events that items may be made of: what a rewind takes back is not among them. */
  readonly said: Growing<KnownEvent | UnknownEvent>;
  /** The output of these events. */
  readonly output: Output;
  readonly halted: boolean;
  readonly ending: Ending | undefined;
}

/**
 * The log as a response at any time. Unlike a stream it can represent a response that was restarted: it has the valid content only, without any retracted
 * text.
 */
export const responsesAnswer = {
  name: "openai-responses answer",
  begin: (run: ProjectedRun): AnswerState => ({
    run,
    started: false,
    said: new Growing(),
    output: emptyOutput(run.generation),
    halted: false,
    ending: undefined,
  }),
  project(state: AnswerState, event: KnownEvent | UnknownEvent): { readonly state: AnswerState } {
    if (state.ending) return { state };
    switch (event.type) {
      case "generation.started":
        return { state: { ...state, started: true } };
      case "moderation.halted":
        return { state: { ...state, halted: true } };
      case "output.rewind": {
        const kept = state.said.toArray().filter(({ seq }) => seq <= event.to_seq);
        const output = kept.reduce(told, emptyOutput(state.run.generation));
        return { state: { ...state, said: new Growing(kept), output } };
      }
      case "generation.completed":
      case "generation.failed":
      case "generation.cancelled": {
        const refused = state.said.toArray().some(({ type }) => type === "refusal.delta");
        return { state: { ...state, ending: endingOf(event, { halted: state.halted, refused }) } };
      }
      default:
        return { state: { ...state, said: state.said.with(event), output: told(state.output, event) } };
    }
  },
};

/** The response as of a state. */
export function toAnswer(state: AnswerState, created?: CreatedWith): object {
  const { run, started, ending } = state;
  const output = itemsIn(state);
  if (!ending) return toResponse(run, { status: started ? "in_progress" : "queued", output }, created);
  const { status, error, incomplete, usage } = ending;
  return toResponse(run, { status, output, error, incomplete, usage }, created);
}

/** The items of a response, as it has them. */
export function itemsIn({ output, ending }: AnswerState): Item[] {
  return itemsOf(ending ? close(output, ending.itemStatus).output : output);
}

function told(output: Output, event: KnownEvent | UnknownEvent): Output {
  return tell(output, event)?.output ?? output;
}
