import fc from "fast-check";
import { isIP } from "node:net";
import { describe, expect, it, test } from "vitest";
import { call, KEYS, openPlatform } from "../testing/platform.ts";
import { openRawConnection, rawGet } from "../testing/raw-connection.ts";
import { TrustedProxies } from "./client-address.ts";

describe("the client's address", () => {
  const proxies = new TrustedProxies(["10.0.0.0/8", "192.0.2.1", "2001:db8:ffff::/48"]);

  it.each([
    ["is the connection's without the header", "10.0.0.1", undefined, "10.0.0.1"],
    ["is the connection's where no proxy is trusted", "203.0.113.5", "198.51.100.7", "203.0.113.5"],
    ["is what a trusted proxy forwards", "10.0.0.1", "203.0.113.5", "203.0.113.5"],
    [
      "is the last one that is no trusted proxy",
      "10.0.0.1",
      "1.1.1.1, 203.0.113.5,10.9.9.9 , 192.0.2.1",
      "203.0.113.5",
    ],
    ["is the first one where all are trusted proxies", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    [
      "is the last proxy's where no address follows it",
      "10.0.0.1",
      "203.0.113.5, unknown, 10.0.0.2",
      "10.0.0.2",
    ],
    ["is the proxy's where it forwards nothing", "10.0.0.1", "", "10.0.0.1"],
    ["is read with a port", "10.0.0.1", "203.0.113.5:4711", "203.0.113.5"],
    ["is read in brackets, with a port", "10.0.0.1", "[2001:DB8::0:1]:4711", "2001:db8::1"],
    ["has one spelling", "10.0.0.1", "2001:0db8:0:0::1", "2001:db8::1"],
    ["is IPv4 where it is mapped to IPv6", "::ffff:10.0.0.1", "::ffff:203.0.113.5", "203.0.113.5"],
    ["is read over IPv6 proxies", "2001:db8:ffff::1", "203.0.113.5, 2001:db8:ffff:1::1", "203.0.113.5"],
  ])("%s", (_name, connected, forwarded, expected) => {
    expect(proxies.clientOf(connected, forwarded)).toBe(expected);
  });

  it("is an address whatever the header holds", () => {
    const entry = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.string(),
      fc.constantFrom("10.0.0.1", "unknown", "[", "1.2.3.4:", "::"),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.array(entry).map(String)), (forwarded) => {
        expect(isIP(proxies.clientOf("10.0.0.1", forwarded))).not.toBe(0);
      }),
      { numRuns: 10_000 },
    );
  });
});

const KEY = "rk_proxied_0123456789abcdef";
const PROXIED = {
  id: "proxied",
  keys: [{ secret: KEY, roles: ["read"] }],
  limits: { address: { requests_per_minute: 1 } },
};

const openBehind = (trustedProxies: readonly string[]) =>
  openPlatform({ trustedProxies, moreTenants: [PROXIED] });

/** Calls with this header from a proxy, and returns the status: each address has one call a minute. */
async function statusFor(url: string, forwarded: string): Promise<number> {
  const headers = { "x-forwarded-for": forwarded };
  return (await call(`${url}/v1/generations/x`, { key: KEY, headers })).status;
}

test("limits per address count the client's that a trusted proxy forwards", async () => {
  await using platform = await openBehind(["127.0.0.0/8", "10.1.2.3"]);
  const { url } = platform.node;
  expect(await statusFor(url, "203.0.113.1")).toBe(404);
  expect(await statusFor(url, "203.0.113.2")).toBe(404);
  expect(await statusFor(url, "203.0.113.2")).toBe(429);
  // Entries that the client wrote itself come before those that the proxies added.
  expect(await statusFor(url, "198.51.100.7, 203.0.113.1, 10.1.2.3")).toBe(429);
});

test("limits per address count an IPv6 client by its /64", async () => {
  await using platform = await openBehind(["127.0.0.1"]);
  const { url } = platform.node;
  expect(await statusFor(url, "2001:db8::1")).toBe(404);
  expect(await statusFor(url, "2001:db8::2")).toBe(429);
  expect(await statusFor(url, "2001:db8:0:1::2")).toBe(404);
});

test.each([
  ["an address that is no trusted proxy", ["10.0.0.0/8"]],
  ["any address by default", []],
])("X-Forwarded-For from %s is ignored", async (_from, trusted) => {
  await using platform = await openBehind(trusted);
  const { url } = platform.node;
  expect(await statusFor(url, "203.0.113.1")).toBe(404);
  expect(await statusFor(url, "203.0.113.2")).toBe(429);
});

test("what a trusted proxy forwards that is no address counts as the proxy's own", async () => {
  await using platform = await openBehind(["127.0.0.1"]);
  const { url } = platform.node;
  expect(await statusFor(url, "unknown")).toBe(404);
  expect(await statusFor(url, "_hidden")).toBe(429);
});

test("no header of a proxy makes a 5xx", async () => {
  await using platform = await openPlatform({ trustedProxies: ["127.0.0.1"] });
  const { url } = platform.node;
  const values = [
    "",
    ",",
    ",,,",
    "[",
    "]:80",
    "::",
    "::::",
    "%",
    "\xff\xfe",
    "1.2.3.4:99999",
    "fe80::1%eth0",
    ",".repeat(8_000),
  ];
  for (const value of values) {
    await using connection = await openRawConnection(url);
    const authorization = `Bearer ${KEYS.acme}`;
    connection.send(rawGet("/v1/generations/x", { authorization, "x-forwarded-for": value }));
    await connection.until("\r\n\r\n");
    expect([value, connection.text.split(" ")[1]]).toEqual([value, "404"]);
  }
});
