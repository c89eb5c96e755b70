/** A build of a program that its project publishes, pinned by version and sums. */
export interface Release {
  /** Of its programs, the one that the release is named after. */
  readonly name: string;
  readonly version: string;
  /** What of it is kept. */
  readonly programs: readonly string[];
  /** Path of the archive (`.tar.gz`) below REPRISE_DOWNLOAD_URL. */
  readonly archive: (platform: string) => string;
  /** SHA-256 of the archive by `<system>-<processor>`, as in the archive's name. A platform that is not here has no release. */
  readonly sha256: Readonly<Record<string, string>>;
}

/**
 * The sums are those of the project's `SHA256SUMS`: of Linux as the official container image `nats:2.15.0` has them, of all four as at
 * least two independent public projects do that compared them with that file.
 */
export const NATS_SERVER: Release = {
  name: "nats-server",
  version: "2.15.0",
  programs: ["nats-server"],
  archive: (platform) =>
    `nats-io/nats-server/releases/download/v2.15.0/nats-server-v2.15.0-${platform}.tar.gz`,
  sha256: {
    "darwin-amd64": "5bd8b59ca5bf93fab3da2c5843cf564cd6e2e291e22ae3b861746e7ebe259b95",
    "darwin-arm64": "e1c4e22d70bd44abfa0bcb3c16f7cf0c66f648c2e728c58924e8a1ce88913cc8",
    "linux-amd64": "5d2c51caca950333aba84911df7d377f826f3a59ec36061c6539105084f65c92",
    "linux-arm64": "cdc208f5a3f42963a52b6ab06ef65626bb870315dc936e26ba571780c6351112",
  },
};

/** The sums are those of the project's `sha256sums.txt`, as five independent public projects have them. */
export const PROMETHEUS: Release = {
  name: "prometheus",
  version: "3.14.0",
  programs: ["prometheus", "promtool"],
  archive: (platform) =>
    `prometheus/prometheus/releases/download/v3.14.0/prometheus-3.14.0.${platform}.tar.gz`,
  sha256: {
    "darwin-amd64": "a14307b9726e66cadb81be9a544732623af26dabeb7702c987aa9c3c062ada34",
    "darwin-arm64": "a9623f7f4fe65b1b171b423c1a72bbf23dfdf41a171dcb33e7dd302af80dc01c",
    "linux-amd64": "f665c6da19eb7ba399c915d30c7d9793c9b417bf8a749b504bc470678631478d",
    "linux-arm64": "077f3781ab7245dc04c9a3c9b78ba120fc8e41aa0dc97489b0af67247e50ba83",
  },
};
