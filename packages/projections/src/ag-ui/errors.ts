import type { RepriseError } from "@reprise/protocol";
import type { Frame } from "../projection.ts";
import { toFrame } from "./project.ts";

/**
 * What a reader is told of an error in a stream behind which nothing follows. Before a stream begins, the answer is the platform's own JSON body: AG-UI's
 * and TanStack's clients have no form of their own for one.
 */
export function toRunErrorFrames({ code, message }: RepriseError): readonly Frame[] {
  return [toFrame({ type: "RUN_ERROR", code, message })];
}
