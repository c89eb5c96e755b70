import { LIMITS } from "@reprise/protocol";
import type { ToolCallEvent } from "../../engine.ts";
import { EngineError } from "../../engine-error.ts";
import { tryJson } from "./try-json.ts";

/** What one chunk says of one tool call. */
export interface ToolCallDelta {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** A piece of the JSON. */
  readonly arguments: string;
}

const MAX_CALLS = LIMITS.tools;
/** Of one call, in characters. As JSON in an event each may take six bytes, which has to stay below `LIMITS.eventBytes`. */
const MAX_CALL_LENGTH = 131_072;

interface Call {
  readonly index: number;
  readonly id: string | undefined;
  name: string | undefined;
  arguments: string;
}

/**
 * Puts the pieces of a run's tool calls together.
 *
 * OpenAI gives a call's id and name in its first piece and the index in all of them. Others repeat the id or the name in every piece,
 * make up a new id for each, leave the index or the id out, send whole calls in one piece, or number all of them 0. So a piece with an
 * index belongs to the last call of that index, and one without to the call of its id, else to the last call; unless it names a
 * function and what has come of that call tells that it is another one: by its id, its name, or by being whole.
 */
export class ToolCallAssembly {
  readonly #calls: Call[] = [];

  /** @throws EngineError `engine_failed` at 128 calls, or 131,072 characters of one */
  add(delta: ToolCallDelta): void {
    const open = this.#find(delta);
    const call = open && !beginsAnother(delta, open) ? open : this.#begin(delta);
    call.name = delta.name ?? call.name;
    call.arguments += delta.arguments;
    if ((call.name ?? "").length + call.arguments.length > MAX_CALL_LENGTH) {
      throw malformed(`The engine made a tool call of more than ${MAX_CALL_LENGTH} characters.`);
    }
  }

  /**
   * All calls, in the order of their indices. A call without arguments has `{}`.
   * @throws EngineError `engine_failed` when one names no function
   */
  finish(): ToolCallEvent[] {
    return this.#calls
      .toSorted((a, b) => a.index - b.index)
      .map(({ id, name, arguments: args }) => {
        if (!name) throw malformed("The engine made a tool call that names no function.");
        return { type: "tool_call", callId: id, name, arguments: args.trim() === "" ? "{}" : args };
      });
  }

  #find({ index, id }: ToolCallDelta): Call | undefined {
    if (index !== undefined) return this.#calls.findLast((call) => call.index === index);
    return this.#calls.findLast((call) => id !== undefined && call.id === id) ?? this.#calls.at(-1);
  }

  #begin({ index, id, name }: ToolCallDelta): Call {
    if (this.#calls.length === MAX_CALLS) {
      throw malformed(`The engine made more than ${MAX_CALLS} tool calls at once.`);
    }
    const call: Call = { index: index ?? this.#calls.length, id, name, arguments: "" };
    this.#calls.push(call);
    return call;
  }
}

function beginsAnother({ id, name, arguments: piece }: ToolCallDelta, open: Call): boolean {
  if (name === undefined || open.name === undefined) return false;
  if (id !== undefined && open.id !== undefined && id !== open.id) return true;
  return name !== open.name || (/^\s*\{/.test(piece) && tryJson(open.arguments) !== undefined);
}

function malformed(message: string): EngineError {
  return new EngineError("engine_failed", message, { retry: "never" });
}
