import type { SeededRandom } from "@reprise/testkit";

/** The data that one hostile connection sends, in pieces, and how it ends. */
export interface HostileConnection {
  readonly pieces: readonly string[];
  /** `wait`: until the server ends the connection or has answered; the others do not listen at all. */
  readonly leave: "wait" | "fin" | "reset" | "drop";
}

const METHODS = [
  "GET",
  "POST",
  "PUT",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "QUERY",
  "BREW",
  "get",
  "CONNECT",
];
const PATHS = ["/v1/generations", "/v1/generations/gen_0_x/events", "/healthz", "/", "*", "/%zz", "//", "x"];
const VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", ""];
const BODY = '{"model":"sim"}';

/** Bytes that no HTTP client would send, or not like this. The same seed makes the same ones. */
export function hostileConnection(random: SeededRandom, keys: readonly string[]): HostileConnection {
  const requests = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => request(random, keys));
  let bytes = requests.join("");
  if (random.chance(0.3)) bytes = bytes.slice(0, random.integer(1, bytes.length));
  if (random.chance(0.3)) bytes += random.pick(["xxx", "\r\n\r\n", "\0", "GET", " ", "}".repeat(5_000)]);
  return {
    pieces: random.chance(0.3) ? cut(bytes, random) : [bytes],
    leave: random.pick(["wait", "fin", "reset", "drop"]),
  };
}

function request(random: SeededRandom, keys: readonly string[]): string {
  const line = `${random.pick(METHODS)} ${random.pick(PATHS)} ${random.pick(VERSIONS)}`;
  const headers = ["host: x", ...framing(random)];
  if (random.chance(0.5)) headers.push(`authorization: Bearer ${random.pick(keys)}`);
  if (random.chance(0.5)) headers.push("content-type: application/json");
  if (random.chance(0.2))
    headers.push(random.pick(["no colon", ": x", "a\0b: c", `big: ${"x".repeat(20_000)}`]));
  if (random.chance(0.2)) headers.push(random.pick(["connection: close", "upgrade: websocket", "expect: x"]));
  return `${line}\r\n${headers.join("\r\n")}\r\n\r\n${random.pick(["", "{}", "{}xxx", BODY, "0\r\n\r\n"])}`;
}

function framing(random: SeededRandom): string[] {
  const lengths = ["0", "2", "15", "1000", "-1", "2, 2", "9".repeat(30), "0x2", "1048577"];
  const encodings = ["chunked", "gzip, chunked", "chunked, identity", "xchunked"];
  const lines: string[] = [];
  if (random.chance(0.7)) lines.push(`content-length: ${random.pick(lengths)}`);
  if (random.chance(0.2)) lines.push(`content-length: ${random.pick(lengths)}`);
  if (random.chance(0.2)) lines.push(`transfer-encoding: ${random.pick(encodings)}`);
  return lines;
}

function cut(bytes: string, random: SeededRandom): string[] {
  const at = random.integer(0, bytes.length);
  return [bytes.slice(0, at), bytes.slice(at)];
}
