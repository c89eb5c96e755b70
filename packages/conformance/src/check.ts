import { inspect, isDeepStrictEqual } from "node:util";
import type { Answer } from "./http/call.ts";

/** @throws Error if `holds` is false */
export function check(holds: boolean, expected: string, came?: unknown): asserts holds {
  if (holds) return;
  throw new Error(`expected ${expected}${came === undefined ? "" : `, got ${show(came)}`}`);
}

/** @throws Error if the values differ */
export function checkEqual(what: string, came: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(came, expected))
    throw new Error(`${what}: expected ${show(expected)}, got ${show(came)}`);
}

/** @throws Error if the answer has another status */
export function checkStatus(answer: Answer, ...statuses: readonly number[]): void {
  if (!statuses.includes(answer.status))
    throw new Error(
      `${answer.name}: expected ${statuses.join(" or ")}, got ${answer.status} ${answer.text.slice(0, 300)}`,
    );
}

/** @throws Error if the answer is not this error */
export function checkError(answer: Answer, status: number, code: string, param?: string): void {
  const { error } = answer.json as { error?: { code?: unknown; param?: unknown } };
  const came = [answer.status, error?.code, ...(param === undefined ? [] : [error?.param])];
  checkEqual(answer.name, came, [status, code, ...(param === undefined ? [] : [param])]);
}

function show(value: unknown): string {
  return inspect(value, { depth: 6, breakLength: Infinity, maxStringLength: 300 });
}
