import type { ServerTls } from "@reprise/runtime";

/** Options of commands that write a server's configuration. */
export const TLS_OPTIONS = {
  "tls-ca": { type: "string" },
  "tls-cert": { type: "string" },
  "tls-key": { type: "string" },
} as const;

/** @throws Error when one is named without the others */
export function toServerTls(values: { readonly [name in keyof typeof TLS_OPTIONS]?: string }):
  | ServerTls
  | undefined {
  const { "tls-ca": caFile, "tls-cert": certFile, "tls-key": keyFile } = values;
  if (caFile !== undefined && certFile !== undefined && keyFile !== undefined)
    return { caFile, certFile, keyFile };
  if (caFile ?? certFile ?? keyFile) throw new Error("--tls-ca, --tls-cert and --tls-key belong together.");
  return undefined;
}
