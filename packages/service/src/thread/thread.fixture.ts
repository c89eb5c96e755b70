import { RepriseError } from "@reprise/protocol";
import { serveThread } from "./serve-thread.ts";

serveThread(async ({ greeting }: { greeting: string }) => {
  if (greeting === "") throw new RepriseError("config_invalid", "no greeting");
  return {
    methods: {
      greet: async (name: string) => ({ result: `${greeting}, ${name}` }),
      reverse: async (bytes: Uint8Array) => {
        bytes.reverse();
        return { result: bytes, transfer: [bytes.buffer as ArrayBuffer] };
      },
      refuse: async () => {
        throw new RepriseError("invalid_request", "no", { param: "body", retryAfterMs: 7 });
      },
      break: async () => {
        throw Object.assign(new TypeError("broken"), { detail: () => {} });
      },
      never: () => new Promise<never>(() => {}),
      die: async () => {
        setImmediate(() => {
          throw new Error("a defect");
        });
        return new Promise<never>(() => {});
      },
    },
    async [Symbol.asyncDispose]() {},
  };
});
