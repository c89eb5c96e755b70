import { LIMITS } from "@reprise/protocol";
import type { ToolCallEvent } from "../../engine.ts";
import { EngineError } from "../../engine-error.ts";
import { type ToolCallDelta, isTooLarge } from "./tool-call-delta.ts";
import { tryJson } from "./answer-frames.ts";

const MAX_CALLS = LIMITS.tools;
/** The limit of one call, in characters. As JSON in an event each may take six bytes, which has to stay below `LIMITS.eventBytes`. */
const MAX_CALL_LENGTH = 131_072;

interface Call {
  /** Its place among the calls. */
  readonly place: number;
  readonly indices: Set<number>;
  readonly ids: Set<string>;
  id: string | undefined;
  name: string | undefined;
  arguments: string;
  /** The index under which all of its arguments came, where that is not its own. */
  restIndex: number | undefined;
  /** The last piece that was whole by itself. */
  wholePiece: string | undefined;
  providerState: ToolCallDelta["providerState"];
}

/**
 * Puts the pieces of a run's tool calls together.
 *
 * OpenAI gives a call's id and name in its first piece and the index in all of them. Others repeat the id or the name in every piece,
 * make up a new id for each, leave the index or the id out, send whole calls in one piece, number all of them 0, give the arguments
 * before the name, or give the rest of a call another index. So a piece belongs to the call of its id, else to the last call of its
 * index, else to the last call, unless it begins another: by its name, by its id, or because the call is whole. A piece that could be
 * of several unfinished calls fails the answer: an application would execute what no model has asked for.
 */
export class ToolCallAssembly {
  readonly #calls: Call[] = [];
  readonly #onLeftOut: (() => void) | undefined;

  /** @param onLeftOut called for a provider's state above 64 KiB */
  constructor(onLeftOut?: () => void) {
    this.#onLeftOut = onLeftOut;
  }

  /** True if each call could be executed as it is. */
  get areWhole(): boolean {
    return this.#calls.every((call) => call.name !== undefined && tryJson(argumentsOf(call)) !== undefined);
  }

  /** @throws EngineError `engine_failed` at 128 calls, at 131,072 characters of one, and for a piece that could be of several */
  add(delta: ToolCallDelta): void {
    const call = this.#find(delta) ?? this.#begin();
    const { index, id, arguments: piece } = delta;
    if (delta.name !== undefined) call.name = joinName(call, delta);
    if (index !== undefined) call.indices.add(index);
    if (id !== undefined) call.ids.add(id);
    call.id ??= id;
    if (delta.providerState) this.#keep(call, delta.providerState);
    if (startsObject(piece)) {
      if (isEmpty(call)) call.arguments = "";
      else if (isWhole(call) && isSameJson(piece, call.arguments)) return;
      if (piece.trimEnd().endsWith("}") && tryJson(piece) !== undefined) call.wholePiece = piece;
    }
    call.arguments += piece;
    if ((call.name ?? "").length + call.arguments.length > MAX_CALL_LENGTH)
      throw failed(`The engine made a tool call of more than ${MAX_CALL_LENGTH} characters.`);
  }

  /**
   * All calls, in the order of their indices. A call without arguments has `{}`.
   * @throws EngineError `engine_failed` when one names no function
   */
  finish(): ToolCallEvent[] {
    return this.#calls
      .filter((call) => call.name !== undefined || !isEmpty(call))
      .toSorted((a, b) => indexOf(a) - indexOf(b))
      .map((call) => {
        const { id, name, providerState } = call;
        if (name === undefined) throw failed("The engine made a tool call that names no function.");
        return {
          type: "tool_call",
          callId: id?.toWellFormed(),
          name: name.toWellFormed(),
          arguments: argumentsOf(call).toWellFormed(),
          ...(providerState && { providerState }),
        };
      });
  }

  /** The call that a piece belongs to; undefined for one that begins another. */
  #find(delta: ToolCallDelta): Call | undefined {
    const { index, id, name } = delta;
    const last = this.#calls.at(-1);
    const ofId = id === undefined ? undefined : this.#calls.findLast((call) => call.ids.has(id));
    if (ofId) return beginsAnother(delta, ofId) ? undefined : ofId;
    if (index === undefined) return last && !beginsAnother(delta, last) ? last : undefined;
    const ofIndex = this.#calls.filter((call) => call.indices.has(index));
    const [open, ...others] = ofIndex.filter((call) => call.arguments !== "" && !isWhole(call));
    if (open && others.length > 0 && id === undefined && name === undefined)
      throw failed("The engine sent a piece of a tool call that may be of several.");
    const call = ofIndex.at(-1);
    if (call && name !== undefined && call.restIndex === index && name !== call.name)
      return this.#split(call, index);
    if (call) return beginsAnother(delta, call) ? undefined : call;
    // The rest of a call under another index.
    if (!last || id !== undefined || name !== undefined || isWhole(last)) return undefined;
    if (last.arguments === "") last.restIndex = index;
    return last;
  }

  /** Arguments that came without a name were no rest of the call before: their name has come. */
  #split(call: Call, index: number): Call {
    const other = this.#begin();
    other.arguments = call.arguments;
    other.wholePiece = call.wholePiece;
    call.arguments = "";
    call.wholePiece = undefined;
    call.restIndex = undefined;
    call.indices.delete(index);
    return other;
  }

  #begin(): Call {
    const place = this.#calls.length;
    if (place === MAX_CALLS) throw failed(`The engine made more than ${MAX_CALLS} tool calls at once.`);
    const call: Call = {
      place,
      indices: new Set(),
      ids: new Set(),
      id: undefined,
      name: undefined,
      arguments: "",
      restIndex: undefined,
      wholePiece: undefined,
      providerState: undefined,
    };
    this.#calls.push(call);
    return call;
  }

  #keep(call: Call, state: NonNullable<ToolCallDelta["providerState"]>): void {
    const joined = { ...call.providerState, ...state };
    if (isTooLarge(joined)) this.#onLeftOut?.();
    else call.providerState = joined;
  }
}

function beginsAnother({ index, id, name, arguments: piece }: ToolCallDelta, open: Call): boolean {
  const isNewId = id !== undefined && open.ids.size > 0 && !open.ids.has(id);
  const isNewIndex = index !== undefined && !open.indices.has(index);
  if (name !== undefined && open.name !== undefined) {
    // A name may come in pieces while there are no arguments.
    if (name !== open.name) return isNewId || isNewIndex || open.arguments !== "" || open.ids.size === 0;
    if (isNewId) return open.arguments === "" || startsObject(piece) || isOver(open);
    if (isNewIndex) return isOver(open);
    if (id === undefined) return startsObject(piece) && isOver(open);
  }
  return startsObject(piece) && !isEmpty(open) && isOver(open) && !isSameJson(piece, open.arguments);
}

/** Joins the pieces of a name; each of them may have all that came before. */
function joinName({ name: so = "" }: Call, { name = "" }: ToolCallDelta): string {
  return name.startsWith(so) ? name : so + name;
}

/** Some send all arguments once more at the end, with other blanks. */
function isSameJson(piece: string, args: string): boolean {
  if (piece === args) return true;
  const value = tryJson(piece);
  return value !== undefined && JSON.stringify(value) === JSON.stringify(tryJson(args));
}

/** Returns the arguments, of some upstreams the last piece: each has all that came before it. */
function argumentsOf(call: Call): string {
  if (isEmpty(call)) return "{}";
  return isWhole(call) ? call.arguments : (call.wholePiece ?? call.arguments);
}

function isOver({ arguments: args }: Call): boolean {
  return tryJson(args) !== undefined;
}

function startsObject(piece: string): boolean {
  return /^\s*\{/.test(piece);
}

/** Tells whether a call's arguments are whole. */
function isWhole({ arguments: args }: Call): boolean {
  return args.trimEnd().endsWith("}") && tryJson(args) !== undefined;
}

/** Tells whether a call has none, or what some upstreams send in the place of none. */
function isEmpty({ arguments: args }: Call): boolean {
  return args.length < 16 && ["", "{}", "[]", "null"].includes(args.trim());
}

function indexOf({ indices, place }: Call): number {
  const [first = place] = indices;
  return first;
}

function failed(message: string): EngineError {
  return new EngineError("engine_failed", message, { retry: "never" });
}
