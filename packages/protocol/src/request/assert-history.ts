import { RepriseError } from "../errors/reprise-error.ts";
import { LIMITS } from "./fields/limits.ts";
import type { Message } from "./fields/input.ts";

/**
 * Engines refuse a history in which an answer has no call, or a call two meanings: here it is refused by its place.
 * @param isContinued whether answers may be to calls of turns that came before all of them
 * @param field the request's field that has the items
 * @throws RepriseError `invalid_request` that names the first wrong field in `param`
 */
export function assertHistory(
  items: readonly Message[],
  { isContinued, field = "input" }: { readonly isContinued: boolean; readonly field?: "input" | "items" },
): void {
  let parts = 0;
  const calls = new Set<string>();
  const answered = new Set<string>();
  for (const [i, item] of items.entries()) {
    if (Array.isArray(item.content)) parts += item.content.length;
    if (item.role === "assistant") {
      for (const [j, { call_id: id }] of (item.tool_calls ?? []).entries()) {
        if (calls.has(id))
          throw refused(`${field}.${i}.tool_calls.${j}.call_id`, "names a call that came before");
        calls.add(id);
      }
    } else if (item.role === "tool") {
      const { call_id: id } = item;
      const param = `${field}.${i}.call_id`;
      if (!calls.has(id) && !isContinued) throw refused(param, "names no call of a turn before it");
      if (answered.has(id)) throw refused(param, "names a call that has its answer already");
      answered.add(id);
    }
  }
  if (parts > LIMITS.parts) throw refused(field, `must hold at most ${LIMITS.parts} content parts`);
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
