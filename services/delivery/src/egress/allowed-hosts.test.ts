import { expect, test } from "vitest";
import { toAllowedHost, toTarget } from "./allowed-hosts.ts";

const ALLOWED = ["files.example.com", "*.cdn.example.net", "odd.example.org:8443"].map(toAllowedHost);

test.each([
  ["https://files.example.com/a.png", "files.example.com", 443],
  ["https://FILES.example.com:443/a.png", "files.example.com", 443],
  ["https://files.example.com./a.png", "files.example.com", 443],
  ["https://ﬁles.example.com/a", "files.example.com", 443],
  ["https://files.example.com\\@evil.example/", "files.example.com", 443],
  ["https://a.cdn.example.net/", "a.cdn.example.net", 443],
  ["https://a.b.cdn.example.net/", "a.b.cdn.example.net", 443],
  ["https://odd.example.org:8443/", "odd.example.org", 8443],
])("%j leads to %s", (url, host, port) =>
  expect(toTarget(url, ALLOWED, "url")).toMatchObject({ host, port }),
);

test.each([
  // Other schemes, and what is no URL.
  "http://files.example.com/a.png",
  "ftp://files.example.com/",
  "file:///etc/passwd",
  "gopher://files.example.com/",
  "data:text/plain,x",
  "//files.example.com/",
  "https://",
  "https://files.example.com:99999/",
  "https://files%00.example.com/",
  "https://files.example.com%2f@evil.example/",
  // Another host, however it is written.
  "https://example.com/",
  "https://evil.example/?files.example.com",
  "https://evil.example/#@files.example.com",
  "https://evil.example\\files.example.com/",
  "https://files.example.com.evil.example/",
  "https://evilfiles.example.com/",
  "https://files.example.com@evil.example/",
  "https://cdn.example.net/",
  "https://evilcdn.example.net/",
  "https://cdn.example.net.evil.example/",
  "https://files.example.com../",
  // A user, another port.
  "https://user@files.example.com/",
  "https://user:word@files.example.com/",
  "https://files.example.com:22/",
  "https://files.example.com:8443/",
  "https://odd.example.org/",
  // Names of the machine itself, and addresses in all notations.
  "https://localhost/",
  "https://localhost./",
  "https://LOCALHOST/",
  "https://127.0.0.1/",
  "https://127.0.0.1./",
  "https://127.1/",
  "https://2130706433/",
  "https://0x7f000001/",
  "https://0x7f.0.0.1/",
  "https://0177.0.0.1/",
  "https://017700000001/",
  "https://127.0.0.1:443/",
  "https://①②⑦.⓪.⓪.①/",
  "https://127。0。0。1/",
  "https://%31%32%37.0.0.1/",
  "https://0/",
  "https://169.254.169.254/latest/meta-data/",
  "https://metadata.google.internal/",
  "https://[::1]/",
  "https://[::]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[0:0:0:0:0:ffff:7f00:1]/",
  "https://[64:ff9b::7f00:1]/",
  "https://[fe80::1]/",
  "https://[fe80::1%25eth0]/",
])("%j leads nowhere", (url) =>
  expect(() => toTarget(url, ALLOWED, "input.0.content.0.url")).toThrow(
    expect.objectContaining({ code: "invalid_request", param: "input.0.content.0.url" }),
  ),
);

test("an address leads nowhere though the list has it", () => {
  const allowed = [{ name: "8.8.8.8", isSuffix: false, port: 443 }];
  expect(() => toTarget("https://8.8.8.8/", allowed, "url")).toThrow("url: leads to a host");
});
