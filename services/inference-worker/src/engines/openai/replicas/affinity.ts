import { createHash, hash } from "node:crypto";
import { isMediaPart, referenceOf } from "@reprise/protocol";
import type { EngineRequest } from "../../engine.ts";

/** Characters of a prompt that decide its affinity: about as much as instructions and a first question. */
const PREFIX_LENGTH = 1_024;

/**
 * Returns the key of requests whose prompts share a beginning, so that one server's cache serves them: their conversation, or else their model and
 * the first 1,024 characters of the prompt.
 */
export function affinityKeyOf({
  model,
  conversation,
  input,
}: Pick<EngineRequest, "model" | "conversation" | "input">): string {
  if (conversation !== undefined) return conversation;
  const digest = createHash("sha256").update(model).update("\0");
  let left = PREFIX_LENGTH;
  for (const piece of piecesOf(input)) {
    digest.update(piece.slice(0, left)).update("\0");
    left -= piece.length;
    if (left <= 0) break;
  }
  return digest.digest("base64url");
}

function* piecesOf(input: EngineRequest["input"]): Generator<string> {
  if (typeof input === "string") {
    yield* ["user", input];
    return;
  }
  for (const { role, content } of input) {
    yield role;
    if (typeof content === "string") yield content;
    else if (content) for (const part of content) yield pieceOf(part);
  }
}

type Part = Exclude<NonNullable<Exclude<EngineRequest["input"], string>[number]["content"]>, string>[number];

function pieceOf(part: Part): string {
  if (isMediaPart(part)) return referenceOf(part) ?? part.url ?? "";
  return "text" in part ? part.text : part.refusal;
}

/**
 * The order in which servers are asked for a key: by a hash of both (rendezvous hashing), so every worker has the same one, and a server that
 * comes or goes moves only the keys that are or were its own.
 * @returns places of `ids`
 */
export function rendezvousOrder(key: string, ids: readonly string[]): readonly number[] {
  const weights = ids.map((id) => hash("sha256", `${key}\0${id}`));
  return [...ids.keys()].toSorted((one, other) => (weights[one]! > weights[other]! ? -1 : 1));
}
