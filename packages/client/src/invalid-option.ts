import { RepriseError } from "@reprise/protocol/wire";

/** An error that names an option, and what is wrong with it. */
export function invalidOption(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param} ${problem}.`, { param });
}

/** True if a header can carry the text unchanged. */
export function isVisible(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/**
 * Checks values for headers: `fetch` throws for a wrong one, and that error could not be distinguished from a broken network.
 * @throws RepriseError `invalid_request`
 */
export function assertVisible(text: string, param: string, maxLength = 65_536): string {
  if (isVisible(text) && text.length <= maxLength) return text;
  throw invalidOption(param, `must be 1 to ${maxLength} visible ASCII characters`);
}

/** @throws RepriseError `invalid_request`, for what is not a number too */
export function assertAtLeast(least: number, value: number, param: string): void {
  if (!(value >= least)) throw invalidOption(param, `must be a number from ${least}, got ${value}`);
}
