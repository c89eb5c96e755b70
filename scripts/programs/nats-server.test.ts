import { describe, expect, test } from "vitest";
import { toDebianSources } from "./nats-server.ts";

describe("the machine's package sources", () => {
  test("keep mirror, key and options of Debian archives, and get the suite forky", () => {
    const stanzas = `Types: deb deb-src
# Mirror of the house.
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg`;
    expect(
      toDebianSources("deb [trusted=yes] http://proxy.example/debian/ trixie main # here", stanzas),
    ).toEqual({
      "debian.list": "deb [trusted=yes] http://proxy.example/debian/ forky main\n",
      "debian.sources":
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: forky\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
    });
  });

  test("are empty without a Debian archive: of another vendor, disabled, or of sources alone", () => {
    const lines = `deb https://download.example/linux/debian bookworm stable
deb-src http://mirror.example/debian bookworm main
deb http://archive.example/ubuntu noble main`;
    const stanzas = `Enabled: no\nTypes: deb\nURIs: http://mirror.example/debian\nSuites: sid\nComponents: main`;
    expect(toDebianSources(lines, stanzas)).toEqual({ "debian.list": "", "debian.sources": "" });
  });
});
