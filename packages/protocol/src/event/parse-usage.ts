import { RepriseError } from "../errors/reprise-error.ts";
import { type Usage } from "./event.ts";
import { usageSchema } from "./shapes/end.ts";

/** @throws RepriseError `protocol_violation` when the text is not the JSON of a usage */
export function parseUsage(text: string): Usage {
  try {
    return usageSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new RepriseError("protocol_violation", "An announced end has a malformed usage.", { cause });
  }
}
