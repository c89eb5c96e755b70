import { isToken } from "./id.ts";
import { RepriseError } from "./reprise-error.ts";

const PLAIN = /^[A-Za-z0-9-]$/;

/**
 * A model's public name as a subject token, reversibly: letters, digits and `-` stand for themselves, every other byte of
 * the UTF-8 form is `_` and two hex digits. `meta-llama/Llama-3.1` becomes `meta-llama_2fLlama-3_2e1`.
 * @throws RepriseError `invalid_request` when the name is empty or its encoded form is longer than 64 characters
 */
export function encodeModelName(model: string): string {
  let token = "";
  for (const byte of new TextEncoder().encode(model)) {
    const char = String.fromCharCode(byte);
    token += PLAIN.test(char) ? char : `_${byte.toString(16).padStart(2, "0")}`;
  }
  if (!isToken(token)) {
    throw new RepriseError(
      "invalid_request",
      `model must be 1 to 64 characters long, counting each character other than A-Z, a-z, 0-9 and - as three or more; this one counts ${token.length}.`,
      { param: "model" },
    );
  }
  return token;
}

/** @throws RepriseError `protocol_violation` when the token is not one that `encodeModelName` makes */
export function decodeModelName(token: string): string {
  const bytes: number[] = [];
  for (let i = 0; i < token.length; i++) {
    if (token[i] === "_") {
      bytes.push(Number.parseInt(token.slice(i + 1, i + 3), 16));
      i += 2;
    } else bytes.push(token.charCodeAt(i));
  }
  const model = new TextDecoder().decode(Uint8Array.from(bytes));
  if (model === "" || encodeModelName(model) !== token) {
    throw new RepriseError("protocol_violation", `"${token}" is not an encoded model name.`);
  }
  return model;
}
