import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { RepriseError } from "@reprise/protocol";

export interface HttpAddress {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/** Has a server listen. @returns its URL, without a slash at the end. @throws what the system says when it can't */
export async function listenHttp(server: Server, { host, port }: HttpAddress): Promise<string> {
  server.listen(port, host);
  await once(server, "listening");
  const { port: taken } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
}

/** Returns an error that names the variable of a port that is taken; any other error unchanged. */
export function toListenError(error: unknown, variable: string): unknown {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") return error;
  return new RepriseError(
    "config_invalid",
    `${error.message}: set ${variable} to another port, or to 0 for a free one.`,
    { param: variable, cause: error },
  );
}
