import { isToken } from "../id.ts";
import { RepriseError } from "../errors/reprise-error.ts";

const PLAIN = /^[A-Za-z0-9-]$/;
const MAX_TOKEN_LENGTH = 64;

/** Reserved: the generation is written by a producer of the tenant's own, and no worker runs it. */
export const EXTERNAL_MODEL = "external";

/** Rule for a model's name, for messages that have already named the field. */
export const MODEL_NAME_RULE = `must be 1 to ${MAX_TOKEN_LENGTH} characters of well-formed text, counting each character other than A-Z, a-z, 0-9 and - as three or more`;

/** Returns true if `encodeModelName` accepts the name. */
export function isModelName(model: string): boolean {
  return toToken(model) !== undefined;
}

/**
 * Encodes a model's public name as a subject token, reversibly: letters, digits and `-` stay as they are, every other byte of the UTF-8 form is `_` and two
 * hex digits. `meta-llama/Llama-3.1` becomes `meta-llama_2fLlama-3_2e1`.
 * @throws RepriseError `invalid_request` if the name is empty, is not well-formed or takes more than 64 characters encoded
 */
export function encodeModelName(model: string): string {
  const token = toToken(model);
  if (token !== undefined) return token;
  throw new RepriseError("invalid_request", `model ${MODEL_NAME_RULE}.`, { param: "model" });
}

/** @throws RepriseError `protocol_violation` when the token is not one that `encodeModelName` makes */
export function decodeModelName(token: string): string {
  const model = isToken(token) ? fromToken(token) : "";
  if (toToken(model) !== token)
    throw new RepriseError("protocol_violation", `"${token}" is not an encoded model name.`);
  return model;
}

function toToken(model: string): string | undefined {
  // A lone surrogate has no UTF-8 form of its own: two names would share one token.
  if (model.length > MAX_TOKEN_LENGTH || !model.isWellFormed()) return undefined;
  let token = "";
  for (const byte of new TextEncoder().encode(model)) {
    const char = String.fromCharCode(byte);
    token += PLAIN.test(char) ? char : `_${byte.toString(16).padStart(2, "0")}`;
  }
  return isToken(token) ? token : undefined;
}

function fromToken(token: string): string {
  const bytes: number[] = [];
  for (let i = 0; i < token.length; i++) {
    if (token[i] === "_") {
      bytes.push(Number.parseInt(token.slice(i + 1, i + 3), 16));
      i += 2;
    } else bytes.push(token.charCodeAt(i));
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}
