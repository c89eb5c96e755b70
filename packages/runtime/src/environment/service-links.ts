import { isIP } from "node:net";

/*
 * Variables that Kubernetes and Docker set for every service that a process could reach. For a service that is called
 * `reprise` or `reprise-…` the names begin like our own, and one, REPRISE_PORT, is even one of them.
 */

const ENDPOINT = /^(?:tcp|udp|sctp):\/\/\S+:[0-9]+$/;
const PROTOCOL = /^(?:tcp|udp|sctp)$/;
const NUMBER = /^[0-9]{1,5}$/;

/** Endings of such names, and checks of their values. */
const KINDS: readonly (readonly [name: RegExp, isValue: (value: string) => boolean])[] = [
  [/_SERVICE_HOST$/, (value) => isIP(value) !== 0],
  [/_SERVICE_PORT(?:_[A-Z0-9_]+)?$/, (value) => NUMBER.test(value)],
  [/_PORT$/, (value) => ENDPOINT.test(value)],
  [/_PORT_[0-9]+_(?:TCP|UDP|SCTP)$/, (value) => ENDPOINT.test(value)],
  [/_PORT_[0-9]+_(?:TCP|UDP|SCTP)_PROTO$/, (value) => PROTOCOL.test(value)],
  [/_PORT_[0-9]+_(?:TCP|UDP|SCTP)_PORT$/, (value) => NUMBER.test(value)],
  [/_PORT_[0-9]+_(?:TCP|UDP|SCTP)_ADDR$/, (value) => isIP(value) !== 0],
];

/** True if a variable is one of those, by its name and its value: neither alone decides. */
export function isServiceLink(name: string, value: string): boolean {
  return (
    name.startsWith("REPRISE_") && KINDS.some(([ending, isValue]) => ending.test(name) && isValue(value))
  );
}

/** The names of those that are there. */
export function serviceLinksIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isServiceLink(name, value) ? [name] : [],
  );
}
