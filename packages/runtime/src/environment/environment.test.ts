import { describe, expect, expectTypeOf, test } from "vitest";
import { parseEnvironment } from "./environment.ts";
import { ENVIRONMENT_TABLE, ENVIRONMENT_VARIABLES, type EnvironmentName } from "./environment-variables.ts";

const ALL = Object.keys(ENVIRONMENT_VARIABLES) as EnvironmentName[];

describe("the environment", () => {
  test("has defaults for everything that is not set", () => {
    const env = parseEnvironment({ PATH: "/bin" }, ALL);
    expect(
      Object.keys(env)
        .filter((name) => env[name as EnvironmentName] !== undefined)
        .toSorted(),
    ).toEqual(ENVIRONMENT_TABLE.flatMap((row) => (row.default === undefined ? [] : [row.name])).toSorted());
    expect(env).toMatchObject({
      REPRISE_HOST: "127.0.0.1",
      REPRISE_PORT: 8_080,
      REPRISE_RETENTION_HOURS: 24,
      REPRISE_CORS_ORIGINS: ["*"],
    });
  });

  test("is typed by the names that were asked for", () => {
    const env = parseEnvironment({ REPRISE_PORT: "0" }, [
      "REPRISE_PORT",
      "REPRISE_OPS_PORT",
      "REPRISE_LOG_LEVEL",
      "REPRISE_NATS_URL",
    ]);
    expect(env.REPRISE_PORT).toBe(0);
    expectTypeOf(env.REPRISE_PORT).toEqualTypeOf<number>();
    expectTypeOf(env.REPRISE_OPS_PORT).toEqualTypeOf<number | undefined>();
    expectTypeOf(env.REPRISE_NATS_URL).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(env.REPRISE_LOG_LEVEL).toEqualTypeOf<
      "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent"
    >();
  });

  test("reads lists with any blanks after the commas", () => {
    const env = {
      REPRISE_NATS_URL: "nats://a:4222, tls://b:4222",
      REPRISE_CORS_ORIGINS: "https://app.example,http://localhost:3000",
    };
    expect(parseEnvironment(env, ["REPRISE_NATS_URL", "REPRISE_CORS_ORIGINS"])).toEqual({
      REPRISE_NATS_URL: ["nats://a:4222", "tls://b:4222"],
      REPRISE_CORS_ORIGINS: ["https://app.example", "http://localhost:3000"],
    });
  });

  test("has what can't be done without, or is refused", () => {
    const parse = (env: Record<string, string>) =>
      parseEnvironment(env, ["REPRISE_NATS_URL", "REPRISE_PORT"], ["REPRISE_NATS_URL"]);
    const { REPRISE_NATS_URL: urls } = parse({ REPRISE_NATS_URL: "nats://a" });
    expectTypeOf(urls).toEqualTypeOf<string[]>();
    expect(urls).toEqual(["nats://a"]);
    expect(() => parse({ REPRISE_PORT: "x" })).toThrow(
      /^The environment is wrong:\n {2}REPRISE_NATS_URL is missing\n {2}REPRISE_PORT must/,
    );
  });

  test("is refused with every problem at once", () => {
    const env = {
      REPRISE_PORT: "80a",
      REPRISE_SHARDS: "1001",
      REPRISE_REPLICAS: "2",
      REPRISE_PROT: "1",
      REPRISE_HOST: "",
    };
    expect(() => parseEnvironment(env, ALL)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: [
          "The environment is wrong:",
          "  REPRISE_PROT is not known; did you mean REPRISE_PORT?",
          "  REPRISE_HOST is set but empty; leave it out for its default",
          '  REPRISE_PORT must be a whole number from 0 to 65535, not "80a"',
          '  REPRISE_SHARDS must be a whole number from 1 to 1000, not "1001"',
          '  REPRISE_REPLICAS must be one of 1, 3, 5, not "2"',
        ].join("\n"),
      }),
    );
  });

  test.each([
    ["REPRISE_PORT", "65536"],
    ["REPRISE_PORT", "-1"],
    ["REPRISE_PORT", "1e3"],
    ["REPRISE_DATA_DIR", " x"],
    ["REPRISE_LOG_LEVEL", "INFO"],
    ["REPRISE_RETENTION_HOURS", "0"],
    ["REPRISE_RETENTION_HOURS", "0.0004"],
    ["REPRISE_RETENTION_HOURS", "8760.5"],
    ["REPRISE_RETENTION_HOURS", "1e2"],
    ["REPRISE_RETENTION_HOURS", ".5"],
    ["REPRISE_NATS_URL", "http://a"],
    ["REPRISE_NATS_URL", "nats://a,,nats://b"],
    ["REPRISE_CORS_ORIGINS", "https://app.example/path"],
    ["REPRISE_CORS_ORIGINS", "app.example"],
    ["REPRISE_CORS_ORIGINS", "https://*.example"],
    ["REPRISE_CORS_ORIGINS", "javascript:alert(1)"],
    ["REPRISE_TRUSTED_PROXIES", "proxy.example"],
    ["REPRISE_TRUSTED_PROXIES", "10.0.0.0/33"],
    ["REPRISE_TRUSTED_PROXIES", "10.0.0.0/"],
    ["REPRISE_TRUSTED_PROXIES", "::1/64/2"],
    ["REPRISE_TRUSTED_PROXIES", "0.0.0.0/0"],
    ["REPRISE_TRUSTED_PROXIES", "*"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "*"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "*.*.example.com"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "https://example.com"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "example.com/a"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "example.com:0"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "10.0.0.1"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "[::1]:443"],
    ["REPRISE_MEDIA_FETCH_ALLOW", "example.com,"],
  ] as const)("is refused for %s=%s", (name, value) => {
    expect(() => parseEnvironment({ [name]: value }, [name])).toThrow(`${name} must`);
  });

  test("takes parts of an hour for the retention time", () => {
    const names = ["REPRISE_RETENTION_HOURS"] as const;
    const hoursOf = (text: string) =>
      parseEnvironment({ REPRISE_RETENTION_HOURS: text }, names).REPRISE_RETENTION_HOURS;
    expect(["0.0005", "1.5", "8760"].map(hoursOf)).toEqual([0.0005, 1.5, 8_760]);
  });

  test("never repeats a URL, which may hold a password", () => {
    expect(() =>
      parseEnvironment({ REPRISE_REDIS_URL: "http://:hunter2@redis" }, ["REPRISE_REDIS_URL"]),
    ).toThrow(expect.objectContaining({ message: expect.not.stringContaining("hunter2") }));
  });

  test("lets pass what another service uses, unchecked", () => {
    expect(parseEnvironment({ REPRISE_SHARDS: "none of my business" }, ["REPRISE_HOST"])).toEqual({
      REPRISE_HOST: "127.0.0.1",
    });
  });

  test("refuses an unknown name without a suggestion when none is near", () => {
    expect(() => parseEnvironment({ REPRISE_FRIENDSHIP_BRACELETS: "1" }, [])).toThrow(
      /REPRISE_FRIENDSHIP_BRACELETS is not known$/,
    );
  });

  test("is described by a table with one row for each variable", () => {
    expect(ENVIRONMENT_TABLE.map(({ name }) => name)).toEqual(ALL);
    expect(ENVIRONMENT_TABLE).toContainEqual({
      name: "REPRISE_PORT",
      default: "8080",
      meaning: "Port of the API; 0 takes a free one.",
    });
  });
});
