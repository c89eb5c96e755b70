import { expect, test } from "vitest";
import { NATS_SERVER, PROMETHEUS } from "./releases.ts";

const PLATFORMS = ["darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64"];

test.each([NATS_SERVER, PROMETHEUS])(
  "$name is pinned for Linux and macOS, each with a sum of its own",
  (release) => {
    expect(Object.keys(release.sha256)).toEqual(PLATFORMS);
    const sums = Object.values(release.sha256);
    expect(sums.filter((sum) => !/^[0-9a-f]{64}$/.test(sum))).toEqual([]);
    expect(new Set(sums).size).toBe(PLATFORMS.length);
    for (const platform of PLATFORMS) {
      const [version, file] = release.archive(platform).split("/").slice(-2);
      expect(version).toBe(`v${release.version}`);
      expect(file).toMatch(new RegExp(`^${release.name}-v?${release.version}[.-]${platform}\\.tar\\.gz$`));
    }
  },
);
