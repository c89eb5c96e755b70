import type { CutPlan, Platform, Tenant } from "./platform.ts";
import type { Script } from "./sim.ts";

/** The request to a client's model. */
export interface Asked {
  readonly platform: Platform;
  /** The engine's answers to the first request, to the second, and so on: a client sends a further one with a tool's answer. */
  readonly scripts: readonly [Script, ...Script[]];
  readonly tenant?: Tenant;
  /** Default: none, and each request is a call of its own. */
  readonly idempotencyKey?: string;
  /** Offers the tool `look_up`, whose answer is `LOOKED_UP`. */
  readonly tools?: boolean;
  /** Asks for JSON of the form of `WEATHER`. */
  readonly structured?: boolean;
}

/** The client's result. */
export interface Told {
  readonly text: string;
  readonly reasoning: string;
  /** The arguments of each call of `look_up`. */
  readonly calls: readonly unknown[];
  /** As the client names it. */
  readonly finish: string | undefined;
  /** The client's own error; undefined where it has none. */
  readonly error: unknown;
}

/** A client that can be asked. */
export interface Asker {
  /** Its names for an end in order, and for the end of a cancelled run. */
  readonly finish: { readonly completed: string; readonly cancelled: string };
  /** A clean end or an error: resolves with either. */
  ask(asked: Asked): Promise<Told>;
  /** Cancels a run by a call of the client's own. Undefined if it has none. */
  readonly cancel?: (platform: Platform, id: string) => Promise<void>;
  /** True if `ask` continues by itself after a lost connection. Otherwise the same is asked again, with its key. */
  readonly comesBack: boolean;
  /** Where connections may be cut for this client; default: anywhere. */
  readonly cuts?: Partial<CutPlan>;
}

/** A client of OpenAI's two APIs that an application has, in the way that it reads. */
export interface Client extends Asker {
  /** True if it gets the model's text as it comes. Otherwise it has one body, and no harm from an answer that began again. */
  readonly streams: boolean;
  /** True if a failure is all that it has of a run that failed, without the text so far. */
  readonly failsBare: boolean;
  /** Reads the whole text of the run of an idempotency key, without a stream. Waits for its end. */
  readonly readWhole?: ((asked: Asked) => Promise<string>) | undefined;
}

/** Cuts within one JSON body. */
export const BODY_CUTS = { from: 50, to: 1_500 };

/** How often a client comes back, or is sent back, before a test gives up. */
export const MOST_RETURNS = 20;

export const LOOKED_UP = "It is so.";

export const LOOK_UP = {
  name: "look_up",
  description: "Looks something up.",
  parameters: {
    type: "object",
    properties: { after_tokens: { type: "number" }, call: { type: "number" } },
    additionalProperties: false,
  },
} as const;

export const WEATHER_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "number" } },
  required: ["city", "degrees"],
  additionalProperties: false,
} as const;

/** The code of OpenAI's error body, wherever a client keeps it. */
export function codeOf(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  const text = error instanceof Error ? `${JSON.stringify(error)} ${error.message}` : JSON.stringify(error);
  return /"code":"([a-z_]+)"/.exec(text.replaceAll("\\", ""))?.[1];
}

/** The first question of every client. */
export const MESSAGES = [{ role: "user" as const, content: "Say it." }];
