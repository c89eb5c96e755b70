import { isIP } from "node:net";
import { RepriseError } from "@reprise/protocol";

/** A host that media may be fetched from. */
export interface AllowedHost {
  /** In lower case, without a dot at its end. */
  readonly name: string;
  /** True if the entry matches all hosts below it, but not the host itself. */
  readonly isSuffix: boolean;
  readonly port: number;
}

const HTTPS_PORT = 443;

/** @param text `files.example.com`, `*.example.com`, each with or without a port, as the environment is checked to have it */
export function toAllowedHost(text: string): AllowedHost {
  const [host = "", port] = text.toLowerCase().split(":");
  const isSuffix = host.startsWith("*.");
  return {
    name: isSuffix ? host.slice(2) : host,
    isSuffix,
    port: port === undefined ? HTTPS_PORT : Number(port),
  };
}

/** Where a URL leads, once it is allowed. */
export interface Target {
  readonly url: URL;
  /** Host of the URL, in lower case, without a final dot. */
  readonly host: string;
  readonly port: number;
}

/**
 * Compares the host and port of a URL with the list. `URL` has already normalised it as clients do: an address in any notation is the address, digits of any
 * script are digits, and a backslash is a slash.
 * @param param the parameter that has the URL
 * @throws RepriseError `invalid_request`: the same for every host that is not on the list
 */
export function toTarget(text: string, allowed: readonly AllowedHost[], param: string): Target {
  const url = URL.parse(text);
  if (!url) throw refused(param, "is no URL");
  if (url.protocol !== "https:") throw refused(param, "is not https");
  if (url.username !== "" || url.password !== "") throw refused(param, "has a user in it");
  const host = url.hostname.replace(/\.$/, "");
  const port = url.port === "" ? HTTPS_PORT : Number(url.port);
  // An address would match a list that has it; names are judged by the addresses that they have.
  const isAddress = host.startsWith("[") || isIP(host) !== 0;
  const isAllowed = allowed.some(
    ({ name, isSuffix, port: open }) =>
      port === open && (isSuffix ? host.endsWith(`.${name}`) : host === name),
  );
  if (isAddress || !isAllowed) throw notAllowed(param);
  return { url, host, port };
}

/** Returns the error for a host that is not on the list. */
export function notAllowed(param: string): RepriseError {
  return refused(param, "leads to a host that this server does not fetch from");
}

export function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}.`, { param });
}
