import { isIP } from "node:net";
import * as z from "zod";

/*
 * The kinds of value that an environment variable can hold. Each problem reads on from the variable's name: "must be …".
 * Values that may hold a password are not repeated in it.
 */

type Problem = { problem: string };
type Parse<T> = (text: string) => T | Problem;

function value<T extends string | number | readonly [string, number]>(parse: Parse<T>): z.ZodType<T, string> {
  return z.string().transform((input, context): T => {
    const parsed = parse(input);
    if (typeof parsed !== "object" || !("problem" in parsed)) return parsed;
    context.issues.push({ code: "custom", message: parsed.problem, input });
    return z.NEVER;
  });
}

export function text(): z.ZodType<string, string> {
  return value((input) =>
    input.trim() === input ? input : { problem: "must not begin or end with a blank" },
  );
}

/** Takes any text as it is, a blank at its end included. */
export function secret(): z.ZodType<string, string> {
  return value((input) => input);
}

/** Takes a name that can be in front of a slash in an origin. */
export function word(): z.ZodType<string, string> {
  return value((input) =>
    /^[A-Za-z0-9.-]{1,64}$/.test(input)
      ? input
      : { problem: `must be 1 to 64 characters of A-Z, a-z, 0-9, . and -, not "${input}"` },
  );
}

export function sha256(): z.ZodType<string, string> {
  return value((input) =>
    /^[0-9a-f]{64}$/.test(input)
      ? input
      : { problem: "must be the lower-case hex SHA-256 of the key, 64 characters" },
  );
}

export function integer(min: number, max: number): z.ZodType<number, string> {
  return value((input) => {
    const number = /^[0-9]{1,15}$/.test(input) ? Number(input) : NaN;
    return number >= min && number <= max
      ? number
      : { problem: `must be a whole number from ${min} to ${max}, not "${input}"` };
  });
}

/** Takes decimals with a point, without exponents. */
export function decimal(min: number, max: number): z.ZodType<number, string> {
  return value((input) => {
    const number = /^[0-9]{1,9}(?:\.[0-9]{1,9})?$/.test(input) ? Number(input) : NaN;
    return number >= min && number <= max
      ? number
      : { problem: `must be a number from ${min} to ${max}, not "${input}"` };
  });
}

/** A value of nats-server's `sync_interval`: `always`, or how long stored messages may wait for their fsync, as nats-server writes durations. */
export type SyncInterval = "always" | `${number}${"ms" | "s" | "m"}`;

export function syncInterval(): z.ZodType<SyncInterval, string> {
  return value((input) =>
    input === "always" || /^[1-9][0-9]{0,8}(?:ms|s|m)$/.test(input)
      ? (input as SyncInterval)
      : { problem: `must be "always", or a duration such as 500ms, 10s or 2m, not "${input}"` },
  );
}

export function oneOf<const T extends string>(options: readonly T[]) {
  return z.enum(options, {
    error: ({ input }) => `must be one of ${options.join(", ")}, not "${String(input)}"`,
  });
}

export function url(...schemes: string[]): z.ZodType<string, string> {
  return value((input) => {
    const known = schemes.some((scheme) => input.startsWith(`${scheme}://`));
    return known && URL.canParse(input)
      ? input
      : { problem: `must be a URL with ${schemes.map((s) => `${s}://`).join(" or ")}` };
  });
}

/** Takes the form of the `Origin` header: a scheme, a host and perhaps a port, no path; or `*`. */
export function origin(): z.ZodType<string, string> {
  return value((input) => {
    const isOrigin =
      input === "*" ||
      (/^https?:[^*]*$/.test(input) && URL.canParse(input) && new URL(input).origin === input);
    const problem = `must be * alone, or whole origins such as https://app.example without a wildcard, not "${input}"`;
    return isOrigin ? input : { problem };
  });
}

/** A host's name, or `*.` and a name that hosts are below; perhaps with a port. */
export function host(): z.ZodType<string, string> {
  return value((input) => {
    const [name = "", port = "443", ...more] = input.split(":");
    const bare = name.replace(/^\*\./, "");
    const isName = HOST_NAME.test(bare) && !/^[\d.]+$/.test(bare) && name.length <= 253;
    const isPort = /^[0-9]{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535;
    return isName && isPort && more.length === 0
      ? input
      : { problem: `must be names of hosts such as files.example.com or *.example.com:8443, not "${input}"` };
  });
}

const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

/** An IP address, or a range of them: an address and the length of its prefix. All addresses together are no range. */
export function network(): z.ZodType<string, string> {
  return value((input) => {
    const [address = "", prefix = "1", ...more] = input.split("/");
    const bits = isIP(address) === 6 ? 128 : 32;
    const isPrefix = /^[0-9]{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= bits;
    const isNetwork = isIP(address) !== 0 && !address.includes("%") && isPrefix && more.length === 0;
    return isNetwork
      ? input
      : { problem: `must be IP addresses or ranges such as 10.0.0.0/8, not "${input}"` };
  });
}

/** Takes a key of a request's `metadata`. */
export function metadataKey(): z.ZodType<string, string> {
  const name = z.string().regex(/^[^,]{1,64}$/, "must be keys of 1 to 64 characters");
  // An object can't have it as a key of its own.
  return name.refine((key) => key !== "__proto__", "can't be __proto__");
}

export function audience(): z.ZodType<string, string> {
  return z.string().regex(/^[\x21-\x7e]{1,128}$/, "must be 1 to 128 visible ASCII characters");
}

export function list<T>(item: z.ZodType<T, string>) {
  return z
    .string()
    .transform((input) => input.split(",").map((part) => part.trim()))
    .pipe(z.array(item));
}
