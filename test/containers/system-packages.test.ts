import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findSystemPackages, type System } from "../../infra/containers/system-packages.ts";

const LDD = `	linux-vdso.so.1 (0x00007ffd)
	libstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f1)
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f2)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f3)
	/lib64/ld-linux-x86-64.so.2 (0x00007f4)
`;
const OWNERS: Readonly<Record<string, string>> = {
  // As a merged /usr has it: the package's list has the path that ldd does not print.
  "/usr/lib/x86_64-linux-gnu/libstdc++.so.6": "libstdc++6:amd64",
  "/lib/x86_64-linux-gnu/libm.so.6": "libc6:amd64",
  "/lib/x86_64-linux-gnu/libc.so.6": "libc6:amd64",
  "/lib64/ld-linux-x86-64.so.2": "libc6:amd64",
};
const SHOWN: Readonly<Record<string, string>> = {
  "libstdc++6:amd64": "libstdc++6\t12.2.0-14+deb12u1\tamd64\tgcc-12",
  "libc6:amd64": "libc6\t2:2.36-9+deb12u14\tamd64\tglibc",
};
const FILES: Readonly<Record<string, string>> = {
  "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_ID="12"\nID=debian\n',
  "/usr/local/LICENSE": "Node.js is licensed for use as follows\n",
  "/usr/share/doc/libc6/copyright": "LGPL, see /usr/share/common-licenses/LGPL-2.1.\n",
  "/usr/share/doc/libstdc++6/copyright": "GPL with an exception\n",
  "/usr/share/common-licenses/LGPL-2.1": "GNU LESSER GENERAL PUBLIC LICENSE\n",
};

const DEBIAN: System = {
  async run(program, args) {
    if (program === "ldd") return LDD;
    const asked = args.at(-1)!;
    if (args[0] === "--show") return SHOWN[asked]!;
    if (OWNERS[asked] === undefined) throw new Error(`no path found matching pattern ${asked}`);
    return `${OWNERS[asked]}: ${asked}\n`;
  },
  read: async (path) => FILES[path],
  realPath: async (path) => path,
  node: "/usr/local/bin/node",
  nodeVersion: "24.21.0",
};

describe("what an image has from its base image", () => {
  test("is Node and the packages of the libraries that it is linked with, each once, with versions and licences", async () => {
    const found = await findSystemPackages(DEBIAN);
    expect(found.map(({ component }) => [component.name, component.version, component.purl])).toEqual([
      ["node", "24.21.0", "pkg:generic/node@24.21.0"],
      [
        "libc6",
        "2:2.36-9+deb12u14",
        "pkg:deb/debian/libc6@2%3A2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12&upstream=glibc",
      ],
      [
        "libstdc++6",
        "12.2.0-14+deb12u1",
        "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12&upstream=gcc-12",
      ],
    ]);
    expect(found[1]!.component).toMatchObject({
      licenses: [{ expression: "LGPL-2.1-or-later" }],
      properties: ["ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6"].map((value) => ({ value })),
    });
    expect(found.map(({ licenceText }) => licenceText)).toEqual([
      FILES["/usr/local/LICENSE"],
      expect.stringMatching(/^LGPL, see [\s\S]+LGPL-2\.1:\n\nGNU LESSER/),
      FILES["/usr/share/doc/libstdc++6/copyright"],
    ]);
  });

  test("says where Node's licence is when the base image lacks it", async () => {
    const read: System["read"] = async (path) => (path === "/usr/local/LICENSE" ? undefined : FILES[path]);
    const [node] = await findSystemPackages({ ...DEBIAN, read });
    expect(node!.licenceText).toContain("https://github.com/nodejs/node/blob/v24.21.0/LICENSE");
  });

  test("is refused where a library belongs to no package, or a package has no copyright", async () => {
    const node = "/opt/node/bin/node";
    const run: System["run"] = async (program, args) =>
      program === "ldd" ? "	libx.so.1 => /opt/libx.so.1 (0x1)\n" : await DEBIAN.run(program, args);
    await expect(findSystemPackages({ ...DEBIAN, node, run })).rejects.toThrow(
      "/opt/libx.so.1, which node is linked with, belongs to no Debian package",
    );
    const read: System["read"] = async (path) => (path.endsWith("copyright") ? undefined : FILES[path]);
    await expect(findSystemPackages({ ...DEBIAN, read })).rejects.toThrow(
      "no /usr/share/doc/libc6/copyright",
    );
  });

  test.runIf(existsSync("/etc/debian_version"))("is found on a Debian", async () => {
    const found = await findSystemPackages();
    expect(found.map(({ component }) => component.name)).toEqual(
      expect.arrayContaining(["node", "libc6", "libgcc-s1", "libstdc++6"]),
    );
    expect(found.find(({ component }) => component.name === "libc6")?.licenceText).toContain(
      "GNU LESSER GENERAL PUBLIC LICENSE",
    );
  });
});
