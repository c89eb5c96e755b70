import { expect, test } from "vitest";
import { deriveDebianSources } from "./debian-sources.ts";

const deb822 = (text: string) => [{ format: "deb822", text }] as const;
const lines = (text: string) => [{ format: "lines", text }] as const;

test("a deb822 stanza keeps its mirror and key and gets the other suite", () => {
  const text = `# the archive
Types: deb deb-src
URIs: http://mirror.example.test/debian
# a comment between fields
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example.test/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`;
  expect(deriveDebianSources(deb822(text), "forky")).toBe(`Types: deb
URIs: http://mirror.example.test/debian
Suites: forky
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`);
});

test("a one-line entry keeps its mirror, key and trust", () => {
  const text = `# deb http://old.example.test/debian bookworm main
deb [arch=amd64 signed-by=/keys/debian.gpg trusted=yes] https://mirror.example.test/debian/ bookworm main contrib # ours
deb-src https://mirror.example.test/debian bookworm main
`;
  expect(deriveDebianSources(lines(text), "forky")).toBe(`Types: deb
URIs: https://mirror.example.test/debian/
Suites: forky
Components: main
Signed-By: /keys/debian.gpg
Trusted: yes
`);
});

test("an archive that is listed for several suites is asked once", () => {
  const text = `deb http://mirror.example.test/debian bookworm main
deb http://mirror.example.test/debian bookworm-updates main
`;
  expect(deriveDebianSources(lines(text), "forky").match(/URIs/g)).toHaveLength(1);
});

test("a caching proxy with a path of its own is known by the Debian key", () => {
  const text = `Types: deb
URIs: http://cache.example.test/repository/upstream
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`;
  expect(deriveDebianSources(deb822(text), "forky")).toContain(
    "URIs: http://cache.example.test/repository/upstream",
  );
});

test("a key written into the stanza is kept whole", () => {
  const text = `Types: deb
URIs: http://mirror.example.test/debian
Suites: trixie
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 bWFkZSB1cA==
 -----END PGP PUBLIC KEY BLOCK-----
`;
  expect(deriveDebianSources(deb822(text), "forky")).toContain(
    "Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n bWFkZSB1cA==\n -----END",
  );
});

test("other vendors' repositories, disabled stanzas and discs are left out", () => {
  const vendor = `deb https://vendor.example.test/linux/debian bookworm stable
deb https://vendor.example.test/apt bookworm main
deb cdrom:[Debian]/debian bookworm main
`;
  const disabled = `Enabled: no
Types: deb
URIs: http://mirror.example.test/debian
Suites: bookworm
Components: main
`;
  expect(deriveDebianSources(lines(vendor), "forky")).toBe("");
  expect(deriveDebianSources(deb822(disabled), "forky")).toBe("");
  expect(deriveDebianSources([], "forky")).toBe("");
});
