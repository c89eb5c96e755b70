import { parseWith } from "@reprise/protocol";
import { type ParsedRun, type ParseOptions, toRun } from "../ag-ui/parse-request.ts";
import { tanstackInputSchema } from "../ag-ui/request-schema.ts";

/**
 * The body of the `POST` of TanStack AI's adapters: AG-UI's `RunAgentInput`, and `data`, which repeats `forwardedProps` for servers of earlier versions. It
 * counts where there is no other.
 * @throws RepriseError `invalid_request` that names the first wrong field in `param`, as the client calls it; `capability_unsupported`
 */
export function parseTanstackRequest(body: unknown, options: ParseOptions): ParsedRun {
  const { data, ...run } = parseWith(tanstackInputSchema, body);
  return toRun({ ...run, forwardedProps: run.forwardedProps ?? data }, options);
}
